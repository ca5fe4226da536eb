package main

// Leases: keep-alive, expiry, restart.

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

var leaseChecks = []check{
	{"grant, attach, revoke", leaseRevoke},
	{"keep-alive holds a lease past its time", leaseKeepAlive},
	{"a lease that nobody keeps ends", leaseEnds},
	{"keep-alive goes on after a restart", leaseRestart},
	{"keep-alive of an unknown lease", leaseUnknown},
}

func leaseRevoke(b *bench) error {
	lease, err := b.client.Grant(b.ctx, 600)
	if err != nil {
		return err
	}
	for _, key := range []string{"l/a", "l/b"} {
		if _, err := b.client.Put(b.ctx, key, "1", clientv3.WithLease(lease.ID)); err != nil {
			return err
		}
	}
	left, err := b.client.TimeToLive(b.ctx, lease.ID, clientv3.WithAttachedKeys())
	if err != nil {
		return err
	}
	list, err := b.client.Leases(b.ctx)
	if err != nil {
		return err
	}
	if _, err := b.client.Revoke(b.ctx, lease.ID); err != nil {
		return err
	}
	gone, err := b.client.Get(b.ctx, "l/", clientv3.WithPrefix())
	if err != nil {
		return err
	}
	_, again := b.client.Revoke(b.ctx, lease.ID)
	return all(same("granted", left.GrantedTTL, 600), same("keys", len(left.Keys), 2),
		same("listed", len(list.Leases) > 0, true), same("keys left", gone.Count, 0),
		same("second revoke", errors.Is(again, rpctypes.ErrLeaseNotFound), true))
}

// kept grants a lease that has the key l/a and keeps it alive.
func kept(b *bench, ttl int64) (*clientv3.LeaseGrantResponse, <-chan *clientv3.LeaseKeepAliveResponse, error) {
	lease, err := b.client.Grant(b.ctx, ttl)
	if err != nil {
		return nil, nil, err
	}
	if _, err := b.client.Put(b.ctx, "l/a", "1", clientv3.WithLease(lease.ID)); err != nil {
		return nil, nil, err
	}
	beats, err := b.client.KeepAlive(b.ctx, lease.ID)
	return lease, beats, err
}

// beat takes keep-alives for a while; they must not end.
func beat(b *bench, beats <-chan *clientv3.LeaseKeepAliveResponse, length time.Duration) error {
	for until := time.Now().Add(length); time.Now().Before(until); {
		select {
		case beat := <-beats:
			if beat == nil {
				return errors.New("the keep-alive ended")
			}
		case <-b.ctx.Done():
			return errors.New("no keep-alive came back")
		}
	}
	return nil
}

func leaseKeepAlive(b *bench) error {
	_, beats, err := kept(b, 2)
	if err != nil {
		return err
	}
	if err := beat(b, beats, 5*time.Second); err != nil {
		return err
	}
	kept, err := b.client.Get(b.ctx, "l/a")
	if err != nil {
		return err
	}
	return same("key", kept.Count, 1)
}

func leaseEnds(b *bench) error {
	lease, err := b.client.Grant(b.ctx, 2)
	if err != nil {
		return err
	}
	granted := time.Now()
	events := b.client.Watch(b.ctx, "l/a")
	if _, err := b.client.Put(b.ctx, "l/a", "1", clientv3.WithLease(lease.ID)); err != nil {
		return err
	}
	got, err := take(b.ctx, events, 2)
	lasted := time.Since(granted)
	if err := all(err, same("events", got, "PUT l/a=1, DELETE l/a=")); err != nil {
		return err
	}
	if lasted < 2*time.Second || lasted > 8*time.Second {
		return fmt.Errorf("a lease of 2 s lasted %v", lasted)
	}
	return nil
}

func leaseRestart(b *bench) error {
	lease, beats, err := kept(b, 5)
	if err != nil {
		return err
	}
	<-beats
	b.server.kill()
	if err := b.server.start(); err != nil {
		return err
	}
	if err := beat(b, beats, 7*time.Second); err != nil {
		return err
	}
	kept, err := b.client.TimeToLive(b.ctx, lease.ID, clientv3.WithAttachedKeys())
	if err != nil {
		return err
	}
	return all(same("granted", kept.GrantedTTL, 5), same("keys", len(kept.Keys), 1))
}

func leaseUnknown(b *bench) error {
	_, err := b.client.KeepAliveOnce(b.ctx, clientv3.LeaseID(4711))
	left, other := b.client.TimeToLive(b.ctx, clientv3.LeaseID(4711))
	if other != nil {
		return other
	}
	return all(same("keep-alive", errors.Is(err, rpctypes.ErrLeaseNotFound), true), same("time left", left.TTL, -1))
}
