package sentinel

// javaCluster is what makes a rule of Java one of a cluster. cordon counts by itself and looks at it only to tell what Java would refuse;
// it stays in Element.Unused.
type javaCluster struct {
	on                           bool
	flowID, thresholdType        int64
	fallback                     bool
	strategy                     int64
	sampleCount, windowMs        int64
	resourceTimeout, offlineTime int64
	timeoutStrategy, refuse      int64
}

// readFlowCluster reads clusterConfig of a flow rule, which is only looked at in cluster mode.
func (r *reader) readFlowCluster(grade int64) javaCluster {
	c, in := r.readCluster(true)
	if in == nil {
		return c
	}
	threads := grade == javaGradeThreads
	c.strategy = in.whole("strategy", 0, span{0, 0})
	c.resourceTimeout = in.whole("resourceTimeout", 2000, ifUsed(threads, positive))
	c.timeoutStrategy = in.whole("resourceTimeoutStrategy", 0, ifUsed(threads, anInt.from(0)))
	c.refuse = in.whole("acquireRefuseStrategy", 0, ifUsed(threads, anInt.from(0)))
	c.offlineTime = in.whole("clientOfflineTime", 2000, ifUsed(threads, positive))
	return c
}

// readCluster reads what clusterConfig has in rules of all kinds, and returns the reader for more; nil if there is none. fallback is what fallbackToLocalWhenFail is by default.
func (r *reader) readCluster(fallback bool) (javaCluster, *reader) {
	in := r.object("clusterConfig", clusterKeys)
	if in == nil {
		r.fault("clusterConfig", "an object with a flowId", "clusterMode needs it, and it is missing")
		return javaCluster{}, nil
	}
	c := javaCluster{
		on:            true,
		thresholdType: in.whole("thresholdType", 0, anInt),
		fallback:      in.bool("fallbackToLocalWhenFail", fallback),
		sampleCount:   in.whole("sampleCount", 10, positive),
		windowMs:      in.whole("windowIntervalMs", 1000, positive),
	}
	if in.has("flowId") {
		c.flowID = in.whole("flowId", 0, aLong.from(1))
	} else {
		in.fault("flowId", "a whole number above 0", "a cluster rule needs it, and it is missing")
	}
	if c.windowMs%c.sampleCount != 0 {
		in.fault("sampleCount", "a divisor of windowIntervalMs", "%d does not divide the window of %d ms", c.sampleCount, c.windowMs)
	}
	const globally = 1
	if c.thresholdType == globally {
		r.warn("clusterMode", "", "counted locally until a quota store is configured: the limit is one for the whole cluster, and each process may use all of it")
	} else {
		r.warn("clusterMode", "", "counted locally until a quota store is configured: each process counts by itself, to the same limit")
	}
	return c, in
}

// clustered reports whether the element's rule is one of a cluster.
func (e *Element) clustered() bool {
	switch j := e.likeness.(type) {
	case javaFlowRule:
		return j.cluster.on
	case javaParamRule:
		return j.cluster.on
	}
	return false
}
