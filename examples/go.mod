module github.com/cordon-go/cordon/examples

go 1.26.0

require github.com/cordon-go/cordon v0.0.0

require (
	github.com/fsnotify/fsnotify v1.10.1 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.13.0 // indirect
	golang.org/x/time v0.16.0 // indirect
)

replace github.com/cordon-go/cordon => ..
