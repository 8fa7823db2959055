package rulestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/datasource/nacos"
)

// Access is how servers are reached.
type Access struct {
	// Password is the password of the address's user, Token an access token for an address without one.
	Password, Token string
	// TLS secures connections; nil for none but to addresses that ask for it.
	TLS *nacos.TLS
	// Logger is told of connections made and lost; nil for none.
	Logger *slog.Logger
}

// Open returns the store of the document with that address. A server is asked for nothing yet.
func Open(a Address, access Access) (Store, error) {
	if a.Path != "" {
		return File(a.Path), nil
	}
	c := nacos.Config{Servers: a.Servers, Namespace: a.Namespace, Username: a.User, TLS: access.TLS, Logger: access.Logger}
	switch {
	case a.User != "" && access.Password == "":
		return nil, fmt.Errorf("the address names the user %s, and there is no password; want it in the environment variable CORDON_NACOS_PASSWORD", a.User)
	case a.User != "":
		c.Password = access.Password
	default:
		c.AccessToken = access.Token
	}
	client, err := nacos.New(c)
	if err != nil {
		return nil, err
	}
	return &nacosStore{client: client, clock: clock.System(), group: a.Group, dataID: a.DataID}, nil
}

// client is what is needed of a nacos.Client.
type client interface {
	Get(ctx context.Context, group, dataID string) (nacos.Content, error)
	Publish(ctx context.Context, group, dataID string, data []byte, opts ...nacos.PublishOption) error
	Source(dataID string, opts ...nacos.SourceOption) *nacos.Source
	Close() error
}

type nacosStore struct {
	client        client
	clock         clock.Clock
	group, dataID string
}

func (s *nacosStore) Read(ctx context.Context) (Content, error) {
	c, err := s.client.Get(ctx, s.group, s.dataID)
	if errors.Is(err, datasource.ErrAbsent) {
		return Content{Absent: true}, nil
	}
	return Content{Data: c.Data}, err
}

// Servers answer with what was there before for a while after they have taken something new: that long is waited for the new.
const (
	settleWithin = 3 * time.Second
	settleEvery  = 250 * time.Millisecond
)

func (s *nacosStore) Write(ctx context.Context, data []byte, was Content) error {
	err := s.client.Publish(ctx, s.group, s.dataID, data, nacos.IfMD5(was.Sum()))
	if errors.Is(err, nacos.ErrConflict) {
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	if err != nil {
		return s.look(ctx, data, was, err)
	}
	s.settle(ctx, was)
	return nil
}

// look finds out what became of a write that failed: where an answer is lost, or nobody waited for it, the document may be stored all the same.
func (s *nacosStore) look(ctx context.Context, data []byte, was Content, failure error) error {
	now, err := s.Read(context.WithoutCancel(ctx))
	switch {
	case err != nil:
		return fmt.Errorf("%w; whether it is stored cannot be told: %w", failure, err)
	case now.Sum() == Content{Data: data}.Sum() && now.Sum() != was.Sum():
		return nil
	case now.Sum() == was.Sum():
		return fmt.Errorf("%w; there is still what was there before", failure)
	}
	return fmt.Errorf("%w; there is something else by now", failure)
}

// settle waits until the server no longer answers with what was there before, so that who reads next reads what was written. It gives up without a word: it is written.
func (s *nacosStore) settle(ctx context.Context, was Content) {
	for end := s.clock.Now() + settleWithin; s.clock.Now() < end; {
		if now, err := s.Read(ctx); err == nil && now.Sum() != was.Sum() {
			return
		}
		timer := s.clock.NewTimer(settleEvery)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

func (s *nacosStore) Source() datasource.Source {
	return s.client.Source(s.dataID, nacos.Group(s.group))
}

func (s *nacosStore) Close() error { return s.client.Close() }
