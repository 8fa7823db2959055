package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// findNginx returns where nginx is. Without it the test is skipped, but not where everything is to be tested.
func findNginx(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"nginx", "/usr/sbin/nginx", "/usr/local/sbin/nginx"} { // users may not have these folders in their PATH
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const why = "nginx is not installed (Debian: apt-get install --no-install-recommends nginx-light wrk)"
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
	return ""
}

// A nginx is a running nginx with /shop, which answers 200, and /broken, which answers 500.
type nginx struct {
	*process
	url      string
	accesses string // the file they are noted in
}

// startNginx starts an nginx that keeps everything in a folder of the test, and ends with it. It answers what the locations say besides.
func startNginx(t *testing.T, path string, locations ...string) *nginx {
	t.Helper()
	about, err := exec.Command(path, "-V").CombinedOutput()
	require.NoError(t, err, string(about))
	for range 5 { // somebody else may take the port before nginx does
		folder := t.TempDir()
		free, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		address := free.Addr().String()
		require.NoError(t, free.Close())
		config := filepath.Join(folder, "nginx.conf")
		require.NoError(t, os.WriteFile(config, nginxConfig(folder, address, string(about), locations), 0o644))
		n := &nginx{startProcess(t, path, "-p", folder, "-c", config), "http://" + address, filepath.Join(folder, "arrivals.log")}
		if n.await(func() bool { return reachable(n.url + "/ready") }) {
			t.Cleanup(func() { require.NoError(t, n.stop(), n.log.String()) })
			return n
		}
		_ = n.stop() // it ended by itself
		t.Logf("nginx at %s did not start: %s", address, n.log.String())
	}
	t.Fatal("nginx did not start")
	return nil
}

// nginxConfig is the configuration of one process, which is the current user's. about is what nginx says it was built with.
func nginxConfig(folder, address, about string, locations []string) []byte {
	var c bytes.Buffer
	fmt.Fprintf(&c, `daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log stderr warn;
events {}
http {
	log_format arrivals "$msec $request_time $uri $http_x_caller";
	access_log %[1]s/arrivals.log arrivals;
	client_body_temp_path %[1]s/client_body;
`, folder)
	for _, module := range []string{"proxy", "fastcgi", "uwsgi", "scgi"} {
		if !strings.Contains(about, "--without-http_"+module+"_module") {
			fmt.Fprintf(&c, "\t%s_temp_path %s/%[1]s;\n", module, folder)
		}
	}
	fmt.Fprintf(&c, `	add_header Upstream nginx always;
	server {
		listen %s;
		location = /shop { return 200 "sold\n"; }
		location = /broken { return 500 "broken\n"; }
		location = /ready { access_log off; return 204; }
		%s
	}
}
`, address, strings.Join(locations, "\n\t\t"))
	return c.Bytes()
}

// reachable reports whether something answers there.
func reachable(url string) bool {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		return false
	}
	_ = response.Body.Close() // nothing was asked but whether it is there
	return response.StatusCode < 300
}

// moments are milliseconds since 1970, in order.
type moments []int64

// arrivals ends nginx, so that everything is noted, and returns when the requests for that path arrived: it notes when each was done, and how
// long after its first byte.
func (n *nginx) arrivals(t *testing.T, path string) moments {
	t.Helper()
	var all moments
	for _, ms := range n.arrivalsOf(t, path) {
		all = append(all, ms...)
	}
	slices.Sort(all)
	return all
}

// arrivalsOf does so for each caller by itself, as its requests name it in the header X-Caller; "-" is whoever does not.
func (n *nginx) arrivalsOf(t *testing.T, path string) map[string]moments {
	t.Helper()
	require.NoError(t, n.stop(), n.log.String())
	f, err := os.Open(n.accesses)
	require.NoError(t, err)
	defer f.Close()
	of := map[string]moments{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		require.Len(t, fields, 4, lines.Text())
		if fields[2] == path {
			of[fields[3]] = append(of[fields[3]], millis(t, fields[0])-millis(t, fields[1]))
		}
	}
	require.NoError(t, lines.Err())
	for _, ms := range of {
		slices.Sort(ms)
	}
	return of
}

// millis reads seconds with three decimals.
func millis(t *testing.T, seconds string) int64 {
	t.Helper()
	whole, thousandths, found := strings.Cut(seconds, ".")
	require.True(t, found && len(thousandths) == 3, seconds)
	n, err := strconv.ParseInt(whole+thousandths, 10, 64)
	require.NoError(t, err)
	return n
}

// from returns the moments at and after one.
func (m moments) from(first int64) moments {
	i, _ := slices.BinarySearch(m, first)
	return m[i:]
}

// to returns the moments before one.
func (m moments) to(end int64) moments {
	i, _ := slices.BinarySearch(m, end)
	return m[:i]
}

func (m moments) between(first, end int64) int { return len(m.from(first).to(end)) }

func (m moments) last() int64 { return m[len(m)-1] }

func (m moments) span() time.Duration { return time.Duration(m.last()-m[0]) * time.Millisecond }

// trailing is how many moments lie in the milliseconds that end with the one at i.
func (m moments) trailing(i int, ms int64) int { return i + 1 - len(m.to(m[i]-ms+1)) }

// densest is the number of moments in the milliseconds with the most of them, wherever they begin.
func (m moments) densest(ms int64) int {
	most := 0
	for i := range m {
		most = max(most, m.trailing(i, ms))
	}
	return most
}

// worst is the number of moments in the second with the most of them.
func (m moments) worst() int { return m.densest(1000) }

// rate is the number per second in the best two seconds. Two others may hold less by where they begin: whoever uses a limit up at once has to
// wait for more.
func (m moments) rate() float64 { return float64(m.densest(2000)) / 2 }

// firstAbove is the first moment that ends a second with more than that many; far in the future if there is none.
func (m moments) firstAbove(count int) int64 {
	for i := range m {
		if m.trailing(i, 1000) > count {
			return m[i]
		}
	}
	return 1 << 60
}

// lastAbove is the last such moment, 0 if there is none.
func (m moments) lastAbove(count int) int64 {
	for i := len(m) - 1; i >= 0; i-- {
		if m.trailing(i, 1000) > count {
			return m[i]
		}
	}
	return 0
}

func TestMoments(t *testing.T) {
	m := moments{0, 1, 1, 500, 999, 1000, 1001, 1001, 2000, 2000}
	for i, want := range []int{1, 2, 3, 4, 5, 5, 4, 5, 3, 4} {
		require.Equal(t, want, m.trailing(i, 1000), i)
	}
	require.Equal(t, 5, m.worst())
	require.Zero(t, moments{}.worst())
	require.EqualValues(t, 500, m.firstAbove(3))
	require.EqualValues(t, 2000, m.lastAbove(3))
	require.EqualValues(t, 1001, m.lastAbove(4))
	require.Zero(t, m.lastAbove(5))
	require.Greater(t, m.firstAbove(5), int64(1)<<50)
	require.Equal(t, 4, m.between(1, 999+1)) // 1, 1, 500, 999
	require.Equal(t, 2*time.Second, m.span())
	require.Equal(t, 4.5, m.rate()) // all but the first
}
