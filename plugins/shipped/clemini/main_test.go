package clemini_test

import (
	"os"
	"testing"

	"github.com/toolhost/toolhost/internal/run/background"
)

func TestMain(m *testing.M) {
	background.Main()
	os.Exit(m.Run())
}
