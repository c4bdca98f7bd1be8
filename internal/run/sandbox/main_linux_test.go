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
		twice, err := makeAmongSignals()
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(twice)
		return
	}
	os.Exit(m.Run())
}
