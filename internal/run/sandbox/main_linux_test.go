package sandbox_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/toolhost/toolhost/internal/test/testfilter"
)

func TestMain(m *testing.M) {
	testfilter.Main()
	if os.Getenv("SANDBOX_TEST_MAKER") != "" {
		if err := makeAmongSignals(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
