// Verify_log checks a tile log over HTTP with the code that checks Go's checksum database and with no code of Motherlode. It
// checks the checkpoint's signature, and that the tree includes each record.
//
//	verify_log http://127.0.0.1:PORT/log/0 VERIFIER-KEY
package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type log struct {
	prefix string
	tiles  map[string][]byte
}

func (l *log) Height() int { return 8 }

func (l *log) SaveTiles([]tlog.Tile, [][]byte) {}

func (l *log) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var all [][]byte
	for _, tile := range tiles {
		data, err := l.get("tile/" + strings.TrimPrefix(tile.Path(), "tile/8/"))
		if err != nil {
			return nil, err
		}
		all = append(all, data)
	}
	return all, nil
}

func (l *log) get(path string) ([]byte, error) {
	if data, ok := l.tiles[path]; ok {
		return data, nil
	}
	answer, err := http.Get(l.prefix + "/" + path)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, answer.Status)
	}
	if err == nil && path != "checkpoint" {
		l.tiles[path] = data
	}
	return data, err
}

type remembered struct {
	hashes []tlog.Hash
}

func (r *remembered) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for at, index := range indexes {
		if index < 0 || index >= int64(len(r.hashes)) {
			return nil, fmt.Errorf("no hash %d in the tree", index)
		}
		hashes[at] = r.hashes[index]
	}
	return hashes, nil
}

func remember(tree tlog.Tree, tiles tlog.TileReader) (*remembered, error) {
	const together = 1 << 16
	reader, count := tlog.TileHashReader(tree, tiles), tlog.StoredHashCount(tree.N)
	r := &remembered{}
	for from := int64(0); from < count; from += together {
		var indexes []int64
		for index := from; index < from+together && index < count; index++ {
			indexes = append(indexes, index)
		}
		hashes, err := reader.ReadHashes(indexes)
		if err != nil {
			return nil, err
		}
		r.hashes = append(r.hashes, hashes...)
	}
	return r, nil
}

func (l *log) entries(from, size int64) ([][]byte, error) {
	tile := tlog.Tile{H: 8, L: 0, N: from / 256, W: 256}
	if size-from < 256 {
		tile.W = int(size - from)
	}
	data, err := l.get("tile/entries/" + strings.TrimPrefix(tile.Path(), "tile/8/0/"))
	if err != nil {
		return nil, err
	}
	var entries [][]byte
	for ; len(data) >= 34 && data[0] == 0 && data[1] == 32; data = data[34:] {
		entries = append(entries, data[2:34])
	}
	if len(data) != 0 || len(entries) != tile.W {
		return nil, fmt.Errorf("entries from %d: %d of them, %d bytes left over", from, len(entries), len(data))
	}
	return entries, nil
}

func verify(prefix, vkey string) error {
	began := time.Now()
	l := &log{prefix: strings.TrimSuffix(prefix, "/"), tiles: map[string][]byte{}}
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		return err
	}
	text, err := l.get("checkpoint")
	if err != nil {
		return err
	}
	opened, err := note.Open(text, note.VerifierList(verifier))
	if err != nil {
		return err
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) < 3 || lines[0] != verifier.Name() {
		return fmt.Errorf("no checkpoint of %s: %q", verifier.Name(), opened.Text)
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return err
	}
	decoded, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || len(decoded) != tlog.HashSize {
		return fmt.Errorf("no root: %q", lines[2])
	}
	var root tlog.Hash
	copy(root[:], decoded)
	tree := tlog.Tree{N: size, Hash: root}
	hashes, err := remember(tree, l)
	if err != nil {
		return err
	}
	for from := int64(0); from < size; from += 256 {
		entries, err := l.entries(from, size)
		if err != nil {
			return err
		}
		for at, entry := range entries {
			index := from + int64(at)
			proof, err := tlog.ProveRecord(size, index, hashes)
			if err != nil {
				return err
			}
			if err := tlog.CheckRecord(proof, size, root, index, tlog.RecordHash(entry)); err != nil {
				return fmt.Errorf("record %d: %w", index, err)
			}
			old, err := tlog.TreeHash(index+1, hashes)
			if err != nil {
				return err
			}
			continued, err := tlog.ProveTree(size, index+1, hashes)
			if err != nil {
				return err
			}
			if err := tlog.CheckTree(continued, size, root, index+1, old); err != nil {
				return fmt.Errorf("the tree of %d: %w", index+1, err)
			}
		}
	}
	fmt.Printf("sumdb: signature, inclusion and consistency of each of %d records hold, %.0f s\n", size, time.Since(began).Seconds())
	return nil
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: verify_log PREFIX VERIFIER-KEY")
		os.Exit(2)
	}
	if err := verify(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "not proven:", err)
		os.Exit(1)
	}
}
