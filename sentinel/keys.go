package sentinel

import "strings"

// owner says which dialect a key belongs to.
type owner uint8

const (
	// both dialects have the key; it decides nothing.
	both owner = iota
	// javaOnly and goOnly keys tell the dialect.
	javaOnly
	goOnly
	// entityOnly keys are put around a rule by Java's dashboard. They tell the dialect and mean nothing to a rule.
	entityOnly
	// retired keys were read by old versions and are ignored by today's.
	retired
)

// A key is one that rules of some kind have, spelt as Sentinel spells it.
type key struct {
	name  string
	owner owner
}

// keyTable finds keys by their folded spelling.
type keyTable map[string]key

func newKeyTable(groups ...keyGroup) keyTable {
	t := make(keyTable)
	for _, g := range groups {
		for _, name := range strings.Fields(g.names) {
			t[fold(name)] = key{name, g.owner}
		}
	}
	return t
}

type keyGroup struct {
	owner owner
	names string
}

const (
	entityKeys = "app ip port gmtCreate gmtModified"
	memoryKeys = "lowMemUsageThreshold highMemUsageThreshold memLowWaterMarkBytes memHighWaterMarkBytes"
)

var (
	flowKeys = newKeyTable(
		keyGroup{both, "id resource refResource regex controlBehavior maxQueueingTimeMs warmUpPeriodSec"},
		keyGroup{javaOnly, "count grade limitApp strategy clusterMode clusterConfig"},
		keyGroup{goOnly, "threshold tokenCalculateStrategy relationStrategy warmUpColdFactor statIntervalInMs " + memoryKeys},
		keyGroup{entityOnly, entityKeys},
	)
	breakerKeys = newKeyTable(
		keyGroup{both, "id resource regex minRequestAmount statIntervalMs"},
		keyGroup{javaOnly, "grade count timeWindow slowRatioThreshold limitApp"},
		keyGroup{goOnly, "strategy threshold retryTimeoutMs maxAllowedRtMs statSlidingWindowBucketCount probeNum"},
		keyGroup{entityOnly, entityKeys},
		keyGroup{retired, "passCount rtSlowRequestAmount"},
	)
	// Only Go has isolation rules. The keys of Java's flow rules are known so that one among them is refused for what it is, by itself.
	isolationKeys = newKeyTable(
		keyGroup{both, "id resource regex"},
		keyGroup{goOnly, "metricType threshold"},
		keyGroup{javaOnly, "count grade limitApp strategy refResource controlBehavior maxQueueingTimeMs warmUpPeriodSec clusterMode clusterConfig"},
		keyGroup{entityOnly, entityKeys},
	)
	paramKeys = newKeyTable(
		keyGroup{both, "id resource regex controlBehavior maxQueueingTimeMs burstCount durationInSec"},
		keyGroup{javaOnly, "paramIdx count grade limitApp paramFlowItemList clusterMode clusterConfig"},
		keyGroup{goOnly, "paramIndex paramKey threshold metricType paramsMaxCapacity specificItems"},
		keyGroup{entityOnly, entityKeys},
	)
	systemKeys = newKeyTable(
		keyGroup{both, "id resource"},
		keyGroup{javaOnly, "highestSystemLoad highestCpuUsage qps avgRt maxThread limitApp regex"},
		keyGroup{goOnly, "metricType triggerCount strategy"},
		keyGroup{entityOnly, entityKeys},
		keyGroup{retired, "adaptiveStrategy"},
	)
	// Only Java has rules of the following kinds.
	authorityKeys = newKeyTable(
		keyGroup{both, "id resource regex"},
		keyGroup{javaOnly, "limitApp strategy"},
		keyGroup{entityOnly, entityKeys},
	)
	gatewayKeys = newKeyTable(
		keyGroup{both, "id resource controlBehavior"},
		keyGroup{javaOnly, "resourceMode grade count intervalSec burst maxQueueingTimeoutMs paramItem"},
		keyGroup{entityOnly, entityKeys + " interval intervalUnit"},
	)
	apiKeys = newKeyTable(
		keyGroup{both, "id"},
		keyGroup{javaOnly, "apiName predicateItems"},
		keyGroup{entityOnly, entityKeys},
	)
	gatewayParamKeys = newKeyTable(keyGroup{javaOnly, "index parseStrategy fieldName pattern matchStrategy"})
	predicateKeys    = newKeyTable(keyGroup{javaOnly, "pattern matchStrategy"})

	javaItemKeys = newKeyTable(keyGroup{javaOnly, "object count classType"})
	goItemKeys   = newKeyTable(keyGroup{goOnly, "valKind valStr threshold"})
	clusterKeys  = newKeyTable(keyGroup{javaOnly, "flowId thresholdType fallbackToLocalWhenFail strategy sampleCount windowIntervalMs " +
		"resourceTimeout resourceTimeoutStrategy acquireRefuseStrategy clientOfflineTime"})
)

// The keys of the rules in resources of Kubernetes: fewer than Go's, with words where these have numbers.
var (
	crdFlowKeys = newKeyTable(
		keyGroup{both, "id resource refResource controlBehavior maxQueueingTimeMs warmUpPeriodSec"},
		keyGroup{goOnly, "threshold tokenCalculateStrategy relationStrategy warmUpColdFactor statIntervalInMs"},
	)
	crdBreakerKeys = newKeyTable(
		keyGroup{both, "id resource minRequestAmount statIntervalMs"},
		keyGroup{goOnly, "strategy threshold retryTimeoutMs maxAllowedRtMs"},
	)
	crdIsolationKeys = newKeyTable(
		keyGroup{both, "id resource"},
		keyGroup{goOnly, "threshold"},
	)
	crdParamKeys = newKeyTable(
		keyGroup{both, "id resource controlBehavior maxQueueingTimeMs burstCount durationInSec"},
		keyGroup{goOnly, "paramIndex threshold metricType paramsMaxCapacity specificItems"},
	)
	crdSystemKeys = newKeyTable(
		keyGroup{both, "id"},
		keyGroup{goOnly, "metricType triggerCount strategy"},
	)
)

// signatures are keys that only rules of one kind have.
var signatures = newSignatures(map[Kind]string{
	Flow:      "tokenCalculateStrategy relationStrategy refResource warmUpPeriodSec warmUpColdFactor statIntervalInMs " + memoryKeys,
	Breaker:   "timeWindow slowRatioThreshold retryTimeoutMs maxAllowedRtMs statSlidingWindowBucketCount probeNum",
	Param:     "paramIdx paramIndex paramKey paramFlowItemList specificItems paramsMaxCapacity burstCount durationInSec",
	System:    "highestSystemLoad highestCpuUsage qps avgRt maxThread triggerCount",
	Authority: "",
	Gateway:   "resourceMode paramItem intervalSec maxQueueingTimeoutMs",
	API:       "apiName predicateItems",
	Outlier:   "enableActiveRecovery maxEjectionPercent recoveryIntervalMs recycleIntervalS maxRecoveryAttempts",
})

type signature struct {
	name string
	kind Kind
}

func newSignatures(names map[Kind]string) map[string]signature {
	t := make(map[string]signature)
	for kind, list := range names {
		for _, name := range strings.Fields(list) {
			t[fold(name)] = signature{name, kind}
		}
	}
	return t
}

// keysOf returns the keys of a supported kind.
func keysOf(k Kind) keyTable {
	switch k {
	case Flow:
		return flowKeys
	case Breaker:
		return breakerKeys
	case Param:
		return paramKeys
	case System:
		return systemKeys
	case Authority:
		return authorityKeys
	case Gateway:
		return gatewayKeys
	case API:
		return apiKeys
	default:
		return isolationKeys
	}
}

// crdKeysOf returns the keys of a kind that there are resources of Kubernetes for.
func crdKeysOf(k Kind) keyTable {
	switch k {
	case Flow:
		return crdFlowKeys
	case Breaker:
		return crdBreakerKeys
	case Param:
		return crdParamKeys
	case System:
		return crdSystemKeys
	default:
		return crdIsolationKeys
	}
}

// fold makes keys equal that fastjson takes for the same: it ignores case and the signs _ and -.
func fold(key string) string {
	var folded []byte
	for i := range len(key) {
		c := key[i]
		switch {
		case c == '_' || c == '-' || 'A' <= c && c <= 'Z':
			if folded == nil {
				folded = append(make([]byte, 0, len(key)), key[:i]...)
			}
			if c != '_' && c != '-' {
				folded = append(folded, c+'a'-'A')
			}
		case folded != nil:
			folded = append(folded, c)
		}
	}
	if folded == nil {
		return key
	}
	return string(folded)
}

// nearest returns the table's key that a misspelt one probably stands for, "" if none is near.
func (t keyTable) nearest(written string) string {
	folded := fold(written)
	best, bestName := 3, ""
	for k, entry := range t {
		d := distance(folded, k)
		if d < best || d == best && bestName != "" && entry.name < bestName {
			best, bestName = d, entry.name
		}
	}
	if best*3 > len(folded) {
		return ""
	}
	return bestName
}

// distance counts the bytes to insert, drop, replace or swap with their neighbour to make b of a; of long texts it is more than is ever near.
func distance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			replace := last[j]
			if a[i] != b[j] {
				replace++
			}
			row[j+1] = min(replace, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
