package main

// Watches: live, from history, across a restart, compacted.

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

var watchChecks = []check{
	{"watch from history and live", watchHistory},
	{"watch resumes after a restart", watchResumes},
	{"watch resumes after a kill with events it missed", watchMissed},
	{"watch of a compacted revision", watchCompacted},
	{"watch filters, previous values and many watchers", watchOptions},
	{"watch progress on request", watchProgress},
}

// take reads so many events and shows them.
func take(ctx context.Context, events clientv3.WatchChan, count int) (string, error) {
	var parts []string
	for len(parts) < count {
		select {
		case <-ctx.Done():
			return strings.Join(parts, " "), fmt.Errorf("only %d of %d events: %v", len(parts), count, parts)
		case r, open := <-events:
			if !open {
				return "", errors.New("the watch ended")
			}
			if err := r.Err(); err != nil {
				return "", err
			}
			for _, e := range r.Events {
				text := e.Type.String() + " " + string(e.Kv.Key) + "=" + string(e.Kv.Value)
				if e.PrevKv != nil {
					text += "<" + string(e.PrevKv.Value)
				}
				parts = append(parts, text)
			}
		}
	}
	return strings.Join(parts, ", "), nil
}

func (b *bench) put(pairs ...string) error {
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		if _, err := b.client.Put(b.ctx, key, value); err != nil {
			return err
		}
	}
	return nil
}

func watchHistory(b *bench) error {
	first, err := b.client.Put(b.ctx, "w/a", "1")
	if err != nil {
		return err
	}
	if err := b.put("w/b=2", "x=no"); err != nil {
		return err
	}
	events := b.client.Watch(b.ctx, "w/", clientv3.WithPrefix(), clientv3.WithRev(first.Header.Revision))
	old, err := take(b.ctx, events, 2)
	if err != nil {
		return err
	}
	if err := b.put("w/a=3"); err != nil {
		return err
	}
	if _, err := b.client.Delete(b.ctx, "w/b"); err != nil {
		return err
	}
	live, err := take(b.ctx, events, 2)
	return all(err, same("history", old, "PUT w/a=1, PUT w/b=2"), same("live", live, "PUT w/a=3, DELETE w/b="))
}

func watchResumes(b *bench) error {
	events := b.client.Watch(clientv3.WithRequireLeader(b.ctx), "w/", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	<-events
	if err := b.put("w/a=1"); err != nil {
		return err
	}
	before, err := take(b.ctx, events, 1)
	if err != nil {
		return err
	}
	b.server.stop()
	if err := b.server.start(); err != nil {
		return err
	}
	if err := b.put("w/a=2", "w/a=3"); err != nil {
		return err
	}
	after, err := take(b.ctx, events, 2)
	return all(err, same("before", before, "PUT w/a=1"), same("after", after, "PUT w/a=2, PUT w/a=3"))
}

func watchMissed(b *bench) error {
	put, err := b.client.Put(b.ctx, "w/a", "0")
	if err != nil {
		return err
	}
	if err := b.put("w/a=1", "w/a=2"); err != nil {
		return err
	}
	b.server.kill()
	if err := b.server.start(); err != nil {
		return err
	}
	events := b.client.Watch(b.ctx, "w/", clientv3.WithPrefix(), clientv3.WithRev(put.Header.Revision+1), clientv3.WithPrevKV())
	if err := b.put("w/a=3"); err != nil {
		return err
	}
	got, err := take(b.ctx, events, 3)
	return all(err, same("events", got, "PUT w/a=1<0, PUT w/a=2<1, PUT w/a=3<2"))
}

func watchCompacted(b *bench) error {
	if err := b.put("w/a=1", "w/a=2"); err != nil {
		return err
	}
	last, err := b.client.Put(b.ctx, "w/a", "3")
	if err != nil {
		return err
	}
	if _, err := b.client.Compact(b.ctx, last.Header.Revision); err != nil {
		return err
	}
	for r := range b.client.Watch(b.ctx, "w/a", clientv3.WithRev(last.Header.Revision-1)) {
		return all(same("error", errors.Is(r.Err(), rpctypes.ErrCompacted), true),
			same("compact revision", r.CompactRevision, last.Header.Revision))
	}
	return errors.New("the watch ended without a reason")
}

func watchOptions(b *bench) error {
	deletes := b.client.Watch(b.ctx, "w/", clientv3.WithPrefix(), clientv3.WithFilterPut(), clientv3.WithPrevKV(), clientv3.WithCreatedNotify())
	<-deletes
	var many []clientv3.WatchChan
	for range 50 {
		events := b.client.Watch(b.ctx, "w/a", clientv3.WithCreatedNotify())
		<-events
		many = append(many, events)
	}
	if err := b.put("w/a=1"); err != nil {
		return err
	}
	if _, err := b.client.Delete(b.ctx, "w/", clientv3.WithPrefix()); err != nil {
		return err
	}
	got, err := take(b.ctx, deletes, 1)
	if err != nil {
		return err
	}
	for _, events := range many {
		each, err := take(b.ctx, events, 2)
		if err := all(err, same("each", each, "PUT w/a=1, DELETE w/a=")); err != nil {
			return err
		}
	}
	return same("filtered", got, "DELETE w/a=<1")
}

func watchProgress(b *bench) error {
	events := b.client.Watch(b.ctx, "w/", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	<-events
	put, err := b.client.Put(b.ctx, "elsewhere", "1")
	if err != nil {
		return err
	}
	for {
		if err := b.client.RequestProgress(b.ctx); err != nil {
			return err
		}
		select {
		case r := <-events:
			if r.IsProgressNotify() && r.Header.Revision >= put.Header.Revision {
				return nil
			}
		case <-b.ctx.Done():
			return errors.New("no progress was notified")
		}
	}
}
