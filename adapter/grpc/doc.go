// Package cordongrpc guards gRPC servers and clients with a cordon engine.
package cordongrpc
