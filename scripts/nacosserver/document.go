package nacosserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// A Document names a document on the server.
type Document struct {
	// Namespace is the namespace's id, "" for the public one.
	Namespace string
	// Group and DataID are required.
	Group, DataID string
}

// busyTries is how often a publish is tried again that the server has no room for.
const busyTries = 50

// Publish stores a document over plain HTTP, as the server's own console and curl do. Content that is blank is refused by the server. While the server says that the document is being modified, it is tried again.
func (s *Server) Publish(ctx context.Context, d Document, content string) error {
	v := d.values()
	v.Set("content", content)
	said, status, err := s.call(ctx, http.MethodPost, v)
	for range busyTries {
		if err != nil || status != http.StatusConflict {
			break
		}
		said, status, err = s.call(ctx, http.MethodPost, v)
	}
	if err == nil && (status != http.StatusOK || said != "true") {
		err = fmt.Errorf("publishing %s over HTTP: %d %s", d.DataID, status, said)
	}
	return err
}

// Delete deletes a document over plain HTTP.
func (s *Server) Delete(ctx context.Context, d Document) error {
	said, status, err := s.call(ctx, http.MethodDelete, d.values())
	if err == nil && (status != http.StatusOK || said != "true") {
		err = fmt.Errorf("deleting %s over HTTP: %d %s", d.DataID, status, said)
	}
	return err
}

// Read returns what the server gives out now, which for a moment after a change may be what was before it. It reports false if there is no such document.
func (s *Server) Read(ctx context.Context, d Document) (content string, there bool, err error) {
	said, status, err := s.call(ctx, http.MethodGet, d.values())
	switch {
	case err != nil:
		return "", false, err
	case status == http.StatusNotFound:
		return "", false, nil
	case status != http.StatusOK:
		return "", false, fmt.Errorf("reading %s over HTTP: %d %s", d.DataID, status, said)
	}
	return said, true, nil
}

func (d Document) values() url.Values {
	v := url.Values{"group": {d.Group}, "dataId": {d.DataID}}
	if d.Namespace != "" {
		v.Set("tenant", d.Namespace)
	}
	return v
}

// call makes a call of the server's HTTP API for documents.
func (s *Server) call(ctx context.Context, method string, v url.Values) (said string, status int, err error) {
	target, body := "http://"+s.Address()+"/nacos/v1/cs/configs", io.Reader(http.NoBody)
	if method == http.MethodPost {
		body = strings.NewReader(v.Encode())
	} else {
		target += "?" + v.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return "", 0, err
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	request.Close = true // nothing is left behind when the server is killed
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", 0, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return string(data), response.StatusCode, err
}
