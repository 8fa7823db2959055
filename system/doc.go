// Package system protects the whole process: it refuses inbound calls while the machine or the process is overloaded, by its load, its share of the CPU it may use, its mean response
// time, what is in flight or the rate of calls. Outbound calls are never refused by it.
//
// A Guard enforces a set of rules. Nothing is measured before a rule asks for it, and then by the calls themselves when a reading is due: a Guard has no goroutine.
package system
