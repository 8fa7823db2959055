// Package cordon is an embeddable resilience engine: it counts calls in sliding windows, limits
// them, breaks circuits, and takes new rules without a restart.
package cordon
