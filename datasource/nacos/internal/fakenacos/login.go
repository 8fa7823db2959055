package fakenacos

import (
	"fmt"
	"net/http"
)

// login is who may do what.
type login struct {
	user, password string
	ttl            float64
	tokens         map[string]bool
	given          int
	// answer, if it is not "", is what logins are answered with, with the status.
	answer string
	status int
}

// RequireLogin asks everybody for a token, which the user gets, good for ttl seconds by what the server says.
func (s *Server) RequireLogin(user, password string, ttl float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.login = login{user: user, password: password, ttl: ttl, tokens: map[string]bool{}}
}

// Allow takes a token that nobody logged in for.
func (s *Server) Allow(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.login.tokens[token] = true
}

// ExpireTokens makes all tokens invalid.
func (s *Server) ExpireTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.login.tokens)
}

// AnswerLogins makes logins be answered so, until the status is 0.
func (s *Server) AnswerLogins(status int, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.login.status, s.login.answer = status, body
}

// Logins returns how many tokens were given.
func (s *Server) Logins() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.login.given
}

// badToken returns why a token is refused, "" if it is not.
func (s *Server) badToken(token string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.login.tokens == nil || s.login.tokens[token]:
		return ""
	case token == "":
		return "user not found!"
	}
	return "token expired!"
}

func (s *Server) serveLogin(w http.ResponseWriter, r *http.Request) {
	s.count("login")
	for _, c := range s.wait("login") {
		select {
		case <-c:
		case <-r.Context().Done():
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.login.status != 0:
		w.WriteHeader(s.login.status)
		fmt.Fprint(w, s.login.answer)
	case r.PostFormValue("username") != s.login.user || r.PostFormValue("password") != s.login.password:
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "unknown user!")
	default:
		s.login.given++
		token := fmt.Sprintf("token-%d", s.login.given)
		s.login.tokens[token] = true
		fmt.Fprintf(w, `{"accessToken":%q,"tokenTtl":%g,"globalAdmin":true,"username":%q}`, token, s.login.ttl, s.login.user)
	}
}
