// Package nacosserver runs a real Nacos server by scripts/nacos, for tests of this repository: on ports that are free, with its data in a folder of the
// caller's, and never longer than the process that started it.
package nacosserver

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Server is a Nacos server of one's own. Its methods may be called concurrently, but those that start and end it only one at a time.
type Server struct {
	script, dir string
	port        int
}

// WhySkip says why tests that need a server are to be skipped on this machine: what is not installed. It is "" if they are to run, which they are in any case where the environment
// variable CI is set: there a server that cannot be had is a failure.
func WhySkip() string {
	if os.Getenv("CI") != "" {
		return ""
	}
	need := []string{"bash", "curl"}
	if os.Getenv("NACOS_SERVER") == "" {
		need = append(need, "java", "javac", "mvn")
	}
	var lacks []string
	for _, tool := range need {
		if _, err := exec.LookPath(tool); err != nil {
			lacks = append(lacks, tool)
		}
	}
	if len(lacks) == 0 {
		return ""
	}
	return fmt.Sprintf("scripts/nacos cannot run a Nacos server: not installed: %s", strings.Join(lacks, ", "))
}

// Start fetches the server if that was never done, and starts it with its data in dir. It returns when the server stores and serves documents, which
// takes some seconds, and the first time ever a minute.
func Start(dir string) (*Server, error) {
	_, here, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(here) {
		return nil, errors.New("scripts/nacos cannot be found from a program built with -trimpath")
	}
	s := &Server{script: filepath.Join(filepath.Dir(filepath.Dir(here)), "nacos"), dir: dir}
	var err error
	for range 3 { // another process may take a port meanwhile
		if s.port, err = freePort(); err != nil {
			return nil, err
		}
		if err = s.Start(); err == nil || !strings.Contains(err.Error(), "is taken by another process") {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// freePort returns a port for HTTP whose other three are free as well. They lie below those that systems give to clients.
func freePort() (int, error) {
	for range 100 {
		p := 12_000 + rand.N(18_000)
		if free(p) && free(p+1000) && free(p+1001) && free(p-1000) {
			return p, nil
		}
	}
	return 0, errors.New("no four free ports for a server were found")
}

func free(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// Address is the host and port of its HTTP.
func (s *Server) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// GRPCAddress is the host and port of its gRPC.
func (s *Server) GRPCAddress() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port+1000))
}

// Start starts it again after Stop or Kill, on the same port and with what data there is.
func (s *Server) Start() error {
	return s.run("start", "-p", strconv.Itoa(s.port), "-w", strconv.Itoa(os.Getpid()))
}

// Stop ends it in order.
func (s *Server) Stop() error { return s.run("stop") }

// Kill ends it as a crash would.
func (s *Server) Kill() error { return s.run("kill") }

// Wipe forgets its data. It must not be running.
func (s *Server) Wipe() error { return s.run("wipe") }

// run runs the script. What it says is in the error.
func (s *Server) run(command string, args ...string) error {
	cmd := exec.Command("bash", append([]string{s.script, command, "-d", s.dir}, args...)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("scripts/nacos %s: %w\n%s", command, err, said.String())
	}
	return nil
}
