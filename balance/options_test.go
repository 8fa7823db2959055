package balance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStrategiesAreWrittenAndReadAlike(t *testing.T) {
	t.Parallel()
	for s := RoundRobin; s <= ConsistentHash; s++ {
		text, err := s.MarshalText()
		require.NoError(t, err)
		require.Equal(t, s.String(), string(text))
		var back Strategy
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, s, back)
	}
	_, err := Strategy(4).MarshalText()
	require.EqualError(t, err, "balance: no such strategy: 4; want one of round robin, random, least in flight, consistent hash")
	s := Random
	require.EqualError(t, s.UnmarshalText([]byte("best")), `balance: no such strategy: "best"; want one of round robin, random, least in flight, consistent hash`)
	require.Equal(t, Random, s)
}
