package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A counterpart says what Sentinel calls a field, in each of its two dialects; "" where it has none.
type counterpart struct{ java, golang string }

// common are the fields that rules for resources have, besides those of their kind.
func common(more map[string]counterpart) map[string]counterpart {
	all := map[string]counterpart{
		"id":       {"`id`", "`id`"},
		"resource": {"`resource`; `regex` for {regex: ...}", "`resource`; `regex` for {regex: ...}"},
		"also":     {"true with `regex`", "true with `regex`"},
		"shadow":   {},
	}
	maps.Copy(all, more)
	return all
}

// counterparts are those of every field of a native document, by kind and by the field's path as the tables write it. Kinds that are not in it have none in Sentinel.
func counterparts() map[string]map[string]counterpart {
	return map[string]map[string]counterpart{
		"flow": common(map[string]counterpart{
			"shared":           {},
			"limit":            {"`count`", "`threshold`"},
			"per":              {"always 1s; `intervalSec` of gateway rules", "`statIntervalInMs`"},
			"mode":             {"`controlBehavior`", "`controlBehavior` and `tokenCalculateStrategy`"},
			"burst":            {"`burst` of gateway rules, besides the limit", ""},
			"maxWait":          {"`maxQueueingTimeMs`; `maxQueueingTimeoutMs` of gateway rules", "`maxQueueingTimeMs`"},
			"warmUp":           {"`warmUpPeriodSec`", "`warmUpPeriodSec`"},
			"coldFactor":       {"a property of the process", "`warmUpColdFactor`"},
			"origin":           {"`limitApp`", ""},
			"related":          {"`refResource` with `strategy` 1", "`refResource` with `relationStrategy` 1"},
			"under":            {"`refResource` with `strategy` 2", ""},
			"memory":           {"", "`tokenCalculateStrategy` 2"},
			"memory.lowLimit":  {"", "`lowMemUsageThreshold`"},
			"memory.highLimit": {"", "`highMemUsageThreshold`"},
			"memory.lowMark":   {"", "`memLowWaterMarkBytes`"},
			"memory.highMark":  {"", "`memHighWaterMarkBytes`"},
		}),
		"concurrency": common(map[string]counterpart{
			"shared":  {},
			"limit":   {"`count` of flow rules with `grade` 0", "`threshold` of isolation rules"},
			"maxWait": {}, "queue": {},
			"origin": {"`limitApp`", ""},
			"under":  {"`refResource` with `strategy` 2", ""},
		}),
		"breaker": common(map[string]counterpart{
			"shared":     {},
			"resource":   {"`resource`; `regex` for {regex: ...}", "`resource`"},
			"also":       {"true with `regex`", ""},
			"trip":       {"`grade`", "`strategy`"},
			"threshold":  {"`slowRatioThreshold` for `grade` 0, else `count`", "`threshold`"},
			"above":      {"true, but for a share of 1", "false"},
			"slowerThan": {"`count` for `grade` 0", "`maxAllowedRtMs`"},
			"window":     {"`statIntervalMs`", "`statIntervalMs`"},
			"buckets":    {"always 1", "`statSlidingWindowBucketCount`"},
			"minCalls":   {"`minRequestAmount`", "`minRequestAmount`"},
			"open":       {"`timeWindow`", "`retryTimeoutMs`"},
			"maxOpen":    {}, "jitter": {},
			"probes":     {"always 1", "`probeNum`"},
			"successes":  {"always 1", "`probeNum`"},
			"probeLease": {},
		}),
		"param": common(map[string]counterpart{
			"shared":               {},
			"resource":             {"`resource`; `regex` for {regex: ...}", "`resource`"},
			"also":                 {"true with `regex`", ""},
			"param":                {"`paramIdx`; `paramItem` of gateway rules", "`paramIndex`, `paramKey`"},
			"mode":                 {"`grade` and `controlBehavior`", "`metricType` and `controlBehavior`"},
			"limit":                {"`count`", "`threshold`"},
			"per":                  {"`durationInSec`; `intervalSec` of gateway rules", "`durationInSec`"},
			"burst":                {"`burstCount`; `burst` of gateway rules, besides the limit", "`burstCount`, besides the limit"},
			"maxWait":              {"`maxQueueingTimeMs`; `maxQueueingTimeoutMs` of gateway rules", "`maxQueueingTimeMs`"},
			"maxQueue":             {},
			"overrides":            {"`paramFlowItemList`", "`specificItems`"},
			"overrides[].value":    {"`object` with `classType`", "`valStr` with `valKind`"},
			"overrides[].wildcard": {}, "overrides[].regex": {},
			"overrides[].limit": {"`count`", "`threshold`"},
			"overrides[].burst": {},
			"only":              {"`pattern` with `matchStrategy` of gateway rules", ""},
			"absent":            {"always pass", "always pass"},
			"values":            {"", "`paramsMaxCapacity`"},
			"redact":            {},
			"origin":            {"", ""},
		}),
		"system": {
			"id":         {"`id`", "`id`"},
			"metric":     {"a key for each", "`metricType`"},
			"limit":      {"`highestSystemLoad`, `highestCpuUsage`, `maxThread`, `qps`", "`triggerCount`"},
			"slowerThan": {"`avgRt`", "`triggerCount` for `metricType` 1"},
			"admission":  {"bbr for load, refuse for cpu", "`strategy`"},
			"shadow":     {},
		},
		"authority": common(map[string]counterpart{
			"resource":  {"`resource`; `regex` for {regex: ...}", ""},
			"also":      {"true with `regex`", ""},
			"id":        {"`id`", ""},
			"allow":     {"`limitApp` with `strategy` 0", ""},
			"deny":      {"`limitApp` with `strategy` 1", ""},
			"anonymous": {"always pass", ""},
		}),
		"apiGroup": {
			"id":              {},
			"name":            {"`apiName`", ""},
			"paths":           {"`predicateItems`", ""},
			"paths[].exact":   {"`pattern` with `matchStrategy` 0", ""},
			"paths[].pattern": {"`pattern` with `matchStrategy` 1", ""},
			"paths[].regex":   {"`pattern` with `matchStrategy` 2", ""},
		},
	}
}

// counterpartTable is the Markdown table of the fields that Sentinel has too, with what it calls them in its dialects.
func counterpartTable() (string, error) {
	var b strings.Builder
	b.WriteString("| list | field | Sentinel Java | sentinel-golang |\n|---|---|---|---|\n")
	names := counterparts()
	for _, s := range sections() {
		of := names[s.key]
		delete(names, s.key)
		if of == nil {
			fmt.Fprintf(&b, "| `%s` | all | – | – |\n", s.key)
			continue
		}
		for _, field := range fieldPaths(s.typ, "") {
			c, ok := of[field]
			if !ok {
				return "", fmt.Errorf("%s.%s: say in counterparts what Sentinel calls it", s.key, field)
			}
			delete(of, field)
			fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", s.key, field, orDash(c.java), orDash(c.golang))
		}
		if len(of) > 0 {
			return "", fmt.Errorf("%s has no fields %v, of which counterparts speaks", s.key, slices.Sorted(maps.Keys(of)))
		}
	}
	if len(names) > 0 {
		return "", fmt.Errorf("there are no lists %v, of which counterparts speaks", slices.Sorted(maps.Keys(names)))
	}
	return b.String(), nil
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// fieldPaths returns the paths of a rule's fields, those of inner structs with their own, as the tables write them.
func fieldPaths(t reflect.Type, prefix string) []string {
	var all []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, ok := f.Tag.Lookup("rule")
		if !ok {
			continue
		}
		all = append(all, prefix+name)
		if inner := innerStruct(f.Type); inner != nil {
			dot := "."
			if f.Type.Kind() == reflect.Slice {
				dot = "[]."
			}
			all = append(all, fieldPaths(inner, prefix+name+dot)...)
		}
	}
	return all
}
