package main

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func newVersion(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, and what it was built from and with",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return fmt.Errorf("this program was built without build information")
			}
			return printVersion(s.out, info)
		},
	}
}

// printVersion writes the version, the commit where the build knows it, and the toolchain.
func printVersion(w io.Writer, info *debug.BuildInfo) error {
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	var from []string
	if revision := settings["vcs.revision"]; revision != "" {
		from = append(from, "commit "+revision[:min(12, len(revision))])
		if at := settings["vcs.time"]; at != "" {
			from = append(from, at)
		}
		if settings["vcs.modified"] == "true" {
			from = append(from, "with local changes")
		}
	}
	version := info.Main.Version
	if version == "" {
		version = "(devel)"
	}
	line := "cordon " + version
	if len(from) > 0 {
		line += ", " + strings.Join(from, ", ")
	}
	_, err := fmt.Fprintf(w, "%s\n%s %s/%s\n", line, info.GoVersion, settings["GOOS"], settings["GOARCH"])
	return err
}
