package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/cordon-go/cordon/cmd/cordon/internal/fromnacos"
	"github.com/cordon-go/cordon/datasource/nacos"
	"github.com/cordon-go/cordon/gateway"
)

const (
	// storedWithin is how long a server may take to give out what was stored, or to answer at all.
	storedWithin = 10 * time.Second
	// askAgain is the pause between two looks.
	askAgain = 50 * time.Millisecond
)

// A nacosStore keeps the document on a Nacos server, under a name of its own, so that nothing that stands there is touched.
type nacosStore struct {
	address string
	dataID  string
	client  *nacos.Client
	// published is true once there is something to delete.
	published bool
}

func newNacosStore(address string) (*nacosStore, error) {
	client, err := nacos.New(nacos.Config{Servers: []string{address}})
	if err != nil {
		return nil, err
	}
	return &nacosStore{address: address, dataID: fmt.Sprintf("cordon-demo-%08x.yaml", rand.Uint32()), client: client}, nil
}

// begin stores the first document, and waits until the server gives it out: that is not at once.
func (n *nacosStore) begin(ctx context.Context, document string) error {
	ctx, cancel := context.WithTimeout(ctx, storedWithin)
	defer cancel()
	if err := n.replace(ctx, document); err != nil {
		return err
	}
	for {
		content, err := n.client.Get(ctx, nacos.DefaultGroup, n.dataID)
		if err == nil && string(content.Data) == document {
			return nil
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return fmt.Errorf("the server at %s took the rules and does not give them out within %v: %w", n.address, storedWithin, errors.Join(ctx.Err(), err))
		}
	}
}

func (n *nacosStore) place() string {
	return fmt.Sprintf("%s on the Nacos server at %s, group %s", n.dataID, n.address, nacos.DefaultGroup)
}

func (n *nacosStore) toEdit() []string {
	server, query, more := strings.Cut(n.address, "?")
	address := fmt.Sprintf("nacos://%s/public/%s/%s", server, nacos.DefaultGroup, n.dataID)
	if more {
		address = fmt.Sprintf("'%s?%s'", address, query)
	}
	return []string{"cordon rules pull " + address + " >rules.yaml", "cordon rules push rules.yaml " + address}
}

func (n *nacosStore) words() storeWords {
	return storeWords{document: "document", write: "paste", replaced: "published"}
}

func (n *nacosStore) watchedBy(c *gateway.Config) []gateway.Option {
	c.Nacos = gateway.Nacos{Servers: []string{n.address}}
	c.Rules = []gateway.RuleSource{{Nacos: gateway.NacosDocument{DataID: n.dataID}}}
	return []gateway.Option{fromnacos.Option(nil)}
}

func (n *nacosStore) replace(ctx context.Context, document string) error {
	if err := n.client.Publish(ctx, nacos.DefaultGroup, n.dataID, []byte(document)); err != nil {
		return fmt.Errorf("publishing the rules: %w", err)
	}
	n.published = true
	return nil
}

func (n *nacosStore) overwrite(ctx context.Context, document string) error {
	return n.replace(ctx, document)
}

func (n *nacosStore) shorten(message string) string {
	return strings.ReplaceAll(message, n.client.Source(n.dataID).Name(), n.dataID)
}

// close deletes the document. A server that is not there any more keeps it.
func (n *nacosStore) close(ctx context.Context) error {
	var err error
	if n.published {
		err = n.client.Delete(ctx, nacos.DefaultGroup, n.dataID)
	}
	if err != nil {
		err = fmt.Errorf("deleting %s: %w", n.dataID, err)
	}
	return errors.Join(err, n.client.Close())
}
