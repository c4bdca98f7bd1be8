package record

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"
)

// head says where the log ends. It is written after each entry, so that it can
// be behind the log, where a process was killed, and never before it.
type head struct {
	n       int64
	segment int64
	end     int64 // of the segment's file
	blobs   int64 // bytes in the segment's blobs
	began   int64 // when the segment began, in seconds
	hash    string
}

const headSize = 5*8 + 32 + 4

// readHead gives ok false where there is no head, or no valid one.
func readHead(file *os.File) (h head, ok bool, err error) {
	var data [headSize]byte
	if _, err := file.ReadAt(data[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return h, false, err
	}
	if crc32.ChecksumIEEE(data[:headSize-4]) != binary.LittleEndian.Uint32(data[headSize-4:]) {
		return h, false, nil
	}
	for i, v := range []*int64{&h.n, &h.segment, &h.end, &h.blobs, &h.began} {
		*v = int64(binary.LittleEndian.Uint64(data[8*i:]))
	}
	h.hash = hex.EncodeToString(data[40:72])
	return h, h.segment > 0, nil
}

func (h *head) write(file *os.File) error {
	var data [headSize]byte
	for i, v := range []int64{h.n, h.segment, h.end, h.blobs, h.began} {
		binary.LittleEndian.PutUint64(data[8*i:], uint64(v))
	}
	sum, err := hex.DecodeString(h.hash)
	if err != nil || len(sum) != 32 {
		sum = make([]byte, 32)
	}
	copy(data[40:], sum)
	binary.LittleEndian.PutUint32(data[headSize-4:], crc32.ChecksumIEEE(data[:headSize-4]))
	_, err = file.WriteAt(data[:], 0)
	return err
}

// next begins a segment.
func (h *head) next(now time.Time) {
	h.segment++
	h.end, h.blobs, h.began = 0, 0, now.Unix()
}

// WorkspaceOf is the path of the workspace whose state lies in the directory
// state, as its record says; "" where there is no record.
func WorkspaceOf(state string) string {
	segments, _ := filepath.Glob(filepath.Join(state, "record", "log", "*.jsonl"))
	for _, path := range segments {
		file, err := os.Open(path)
		if err != nil {
			continue
		}
		line, err := bufio.NewReaderSize(file, 64<<10).ReadSlice('\n')
		file.Close()
		var first struct {
			Workspace string `json:"workspace"`
		}
		if err == nil && json.Unmarshal(line, &first) == nil && first.Workspace != "" {
			return first.Workspace
		}
	}
	return ""
}
