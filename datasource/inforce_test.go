package datasource_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource"
)

// What is in force may be more than the document last applied: then that is what a restart brings back, and the source's document, if only the same, is judged on top of it.
func TestLastGoodHoldsWhatIsInForce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "last")
	synctest.Test(t, func(t *testing.T) {
		var given []datasource.Document
		inForce := ""
		run := func(body func(f feed, p *datasource.Pump)) {
			f := make(feed)
			given = nil
			p := datasource.Start(t.Context(), f, func(d datasource.Document) error {
				given = append(given, d)
				return nil
			}, datasource.PumpOptions{LastGood: path, InForce: func() func() ([]byte, error) {
				switch inForce {
				case "":
					return nil
				case "panic":
					panic("asked")
				}
				return func() ([]byte, error) {
					if inForce == "bad" {
						return nil, errBroken
					}
					return []byte(inForce), nil
				}
			}})
			synctest.Wait()
			body(f, p)
			require.NoError(t, p.Close())
		}
		say := func(f feed, d datasource.Document) {
			f <- datasource.Update{Document: d}
			rest(time.Minute)
		}
		inForce = "a of a and b"
		run(func(f feed, p *datasource.Pump) {
			say(f, datasource.Document{Data: []byte("a"), Version: "1", InForce: true})
			require.False(t, given[0].InForce, "a source cannot say so")
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Contains(t, string(text), " holds=inForce length=12 ")
			require.True(t, strings.HasSuffix(string(text), "\na of a and b"))
		})
		run(func(f feed, p *datasource.Pump) {
			require.Len(t, given, 1)
			require.Equal(t, []any{"a of a and b", "1", true}, []any{string(given[0].Data), given[0].Version, given[0].InForce})
			require.True(t, p.Health().Stale)
			inForce = ""
			say(f, datasource.Document{Data: []byte("a of a and b"), Version: "2"})
			require.Len(t, given, 2, "another document, whatever it looks like")
			require.False(t, given[1].InForce)
			require.False(t, p.Health().Stale)
			require.NoError(t, p.First(t.Context()))
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Contains(t, string(text), " holds=document ")
		})
		for _, fault := range []string{"bad", "panic"} {
			run(func(f feed, p *datasource.Pump) {
				require.Equal(t, "2", given[0].Version)
				require.False(t, given[0].InForce)
				inForce = fault
				say(f, datasource.Document{Data: []byte("c"), Version: "3"})
				require.Len(t, given, 2)
				require.Error(t, p.Health().LastGoodError, "what cannot be written is told")
				require.Equal(t, fault == "bad", errors.Is(p.Health().LastGoodError, errBroken))
				require.NoError(t, p.Health().LastError)
			})
			inForce = ""
		}
		run(func(f feed, p *datasource.Pump) {
			require.Equal(t, "2", given[0].Version, "and the file stays as it was")
		})
	})
}
