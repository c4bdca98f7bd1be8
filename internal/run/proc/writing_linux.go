package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// mostDescendants bounds the processes whose files are examined.
const mostDescendants = 1000

// Writing returns the files that a process and its descendants have open for writing, by the kernel's names.
func Writing(pid int) (paths []string) {
	seen := make(map[string]bool)
	pids := []int{pid}
	for i := 0; i < len(pids) && i < mostDescendants; i++ {
		dir := "/proc/" + strconv.Itoa(pids[i])
		for _, path := range writingOf(dir) {
			if !seen[path] {
				seen[path], paths = true, append(paths, path)
			}
		}
		pids = append(pids, childrenOf(dir)...)
	}
	return paths
}

func childrenOf(dir string) (pids []int) {
	threads, _ := os.ReadDir(dir + "/task")
	for _, thread := range threads {
		list, _ := readProc(dir+"/task/"+thread.Name()+"/children", maxEnviron)
		for _, field := range bytes.Fields(list) {
			if pid, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func writingOf(dir string) (paths []string) {
	files, _ := os.ReadDir(dir + "/fd")
	for _, file := range files {
		path, err := os.Readlink(dir + "/fd/" + file.Name())
		if err != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "/dev/") {
			continue
		}
		if about, _ := readProc(dir+"/fdinfo/"+file.Name(), 4096); opensForWriting(about) {
			paths = append(paths, path)
		}
	}
	return paths
}

// opensForWriting parses the octal flags of an open file.
func opensForWriting(about []byte) bool {
	for line := range bytes.Lines(about) {
		if value, ok := bytes.CutPrefix(line, []byte("flags:")); ok {
			flags, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 8, 64)
			return err != nil || flags&uint64(os.O_WRONLY|os.O_RDWR) != 0
		}
	}
	return false
}
