package balance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Processes of different versions must send a key to the same instance: the values never change.
func TestHashOf(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, uint64(0xefd01f60ba992926), HashOf(""))
	require.EqualValues(t, uint64(0x5f45893168beb5f), HashOf("user-7"))
	require.NotEqual(t, HashOf("user-7")>>48, HashOf("user-8")>>48, "the high bits tell alike keys apart")
}
