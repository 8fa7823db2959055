package main

import (
	"bytes"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersion(t *testing.T) {
	r := runCordon(t, "", "version")
	require.Equal(t, exitGood, r.code)
	require.Regexp(t, `^cordon \S+.*\ngo\S+ \S+/\S+\n$`, r.out)
}

func TestVersionSaysWhatItWasBuiltFrom(t *testing.T) {
	for want, info := range map[string]*debug.BuildInfo{
		"cordon (devel)\ngo1.26.8 linux/amd64\n": {GoVersion: "go1.26.8", Settings: platform()},
		"cordon v1.2.3, commit 0123456789ab, 2026-01-02T03:04:05Z, with local changes\ngo1.26.8 linux/amd64\n": {
			GoVersion: "go1.26.8",
			Main:      debug.Module{Version: "v1.2.3"},
			Settings: append(platform(),
				debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"},
				debug.BuildSetting{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
				debug.BuildSetting{Key: "vcs.modified", Value: "true"}),
		},
	} {
		var out bytes.Buffer
		require.NoError(t, printVersion(&out, info))
		require.Equal(t, want, out.String())
	}
}

func platform() []debug.BuildSetting {
	return []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "amd64"}}
}
