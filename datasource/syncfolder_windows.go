package datasource

// syncFolder does nothing: Windows has no such thing for folders, and journals renames itself.
func syncFolder(string) error { return nil }
