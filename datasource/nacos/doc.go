// Package nacos is a datasource over documents kept in a Nacos server (2.x, over gRPC): sources to watch, and documents to get, publish and delete.
package nacos
