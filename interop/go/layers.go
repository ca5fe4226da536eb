package main

// The client's own layers: concurrency, namespace, naming.

import (
	"context"
	"errors"
	"fmt"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.etcd.io/etcd/client/v3/namespace"
	"go.etcd.io/etcd/client/v3/naming/endpoints"
)

var layerChecks = []check{
	{"lock is handed over", lockHandOver},
	{"lock is handed over when its holder's session ends", lockSessionEnds},
	{"lock is held by one at a time", lockExclusive},
	{"election", election},
	{"election survives a restart", electionRestart},
	{"software transaction", softwareTransaction},
	{"namespace", namespaced},
	{"naming", naming},
}

func sessions(b *bench) (first, second *concurrency.Session, err error) {
	if first, err = concurrency.NewSession(b.client, concurrency.WithTTL(10)); err != nil {
		return nil, nil, err
	}
	second, err = concurrency.NewSession(b.client, concurrency.WithTTL(10))
	return first, second, err
}

func lockHandOver(b *bench) error {
	one, two, err := sessions(b)
	if err != nil {
		return err
	}
	defer one.Close()
	defer two.Close()
	first, second := concurrency.NewMutex(one, "lock"), concurrency.NewMutex(two, "lock")
	if err := first.Lock(b.ctx); err != nil {
		return err
	}
	busy := second.TryLock(b.ctx)
	got := make(chan error, 1)
	go func() { got <- second.Lock(b.ctx) }()
	if err := first.Unlock(b.ctx); err != nil {
		return err
	}
	return all(<-got, same("busy", errors.Is(busy, concurrency.ErrLocked), true), second.Unlock(b.ctx))
}

func lockSessionEnds(b *bench) error {
	one, two, err := sessions(b)
	if err != nil {
		return err
	}
	defer two.Close()
	first, second := concurrency.NewMutex(one, "lock"), concurrency.NewMutex(two, "lock")
	if err := first.Lock(b.ctx); err != nil {
		return err
	}
	got := make(chan error, 1)
	go func() { got <- second.Lock(b.ctx) }()
	return all(one.Close(), <-got, second.Unlock(b.ctx))
}

func lockExclusive(b *bench) error {
	var group sync.WaitGroup
	failures := make(chan error, 8)
	for range 8 {
		group.Go(func() { failures <- increments(b, 5) })
	}
	group.Wait()
	for range 8 {
		if err := <-failures; err != nil {
			return err
		}
	}
	got, err := b.client.Get(b.ctx, "counter")
	return all(err, same("counter", keysOf(got), "counter=40"))
}

// increments adds to a counter under the lock, without any other guard.
func increments(b *bench, times int) error {
	session, err := concurrency.NewSession(b.client, concurrency.WithTTL(10))
	if err != nil {
		return err
	}
	defer session.Close()
	mutex := concurrency.NewMutex(session, "lock")
	for range times {
		if err := mutex.Lock(b.ctx); err != nil {
			return err
		}
		got, err := b.client.Get(b.ctx, "counter")
		if err != nil {
			return err
		}
		value := 0
		if len(got.Kvs) > 0 {
			fmt.Sscan(string(got.Kvs[0].Value), &value)
		}
		if _, err := b.client.Put(b.ctx, "counter", fmt.Sprint(value+1)); err != nil {
			return err
		}
		if err := mutex.Unlock(b.ctx); err != nil {
			return err
		}
	}
	return nil
}

// elected lets two stand for election: the first leads, and what comes of the second is told through won.
func elected(b *bench) (first, second *concurrency.Election, won chan error, end func(), err error) {
	one, two, err := sessions(b)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	end = func() {
		one.Close()
		two.Close()
	}
	first, second = concurrency.NewElection(one, "election"), concurrency.NewElection(two, "election")
	if err := first.Campaign(b.ctx, "first"); err != nil {
		end()
		return nil, nil, nil, nil, err
	}
	won = make(chan error, 1)
	go func() { won <- second.Campaign(b.ctx, "second") }()
	return first, second, won, end, nil
}

func election(b *bench) error {
	first, second, won, end, err := elected(b)
	if err != nil {
		return err
	}
	defer end()
	watching, stop := context.WithCancel(b.ctx)
	defer stop()
	observed := second.Observe(watching)
	leader := <-observed
	if err := first.Proclaim(b.ctx, "first again"); err != nil {
		return err
	}
	proclaimed := <-observed
	if err := first.Resign(b.ctx); err != nil {
		return err
	}
	if err := <-won; err != nil {
		return err
	}
	next := <-observed
	return all(same("leader", keyless(leader), "first"), same("proclaimed", keyless(proclaimed), "first again"),
		same("next", keyless(next), "second"))
}

func keyless(answer *clientv3.GetResponse) string {
	if len(answer.Kvs) == 0 {
		return ""
	}
	return string(answer.Kvs[0].Value)
}

func electionRestart(b *bench) error {
	first, _, won, end, err := elected(b)
	if err != nil {
		return err
	}
	defer end()
	// A write that is under way at the stop may fail, on etcd too: both stand for election first.
	if err := candidates(b, "election/", 2); err != nil {
		return err
	}
	b.server.stop()
	if err := b.server.start(); err != nil {
		return err
	}
	leader, err := first.Leader(b.ctx)
	if err != nil {
		return err
	}
	if err := all(same("leader", keyless(leader), "first"), first.Resign(b.ctx)); err != nil {
		return err
	}
	return <-won
}

// candidates waits until this many keys lie under a prefix.
func candidates(b *bench, prefix string, count int64) error {
	for {
		answer, err := b.client.Get(b.ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil || answer.Count == count {
			return err
		}
	}
}

func softwareTransaction(b *bench) error {
	if err := b.put("from=100", "to=0"); err != nil {
		return err
	}
	var group sync.WaitGroup
	failures := make(chan error, 10)
	for range 10 {
		group.Go(func() {
			_, err := concurrency.NewSTM(b.client, func(stm concurrency.STM) error {
				var from, to int
				fmt.Sscan(stm.Get("from"), &from)
				fmt.Sscan(stm.Get("to"), &to)
				stm.Put("from", fmt.Sprint(from-7))
				stm.Put("to", fmt.Sprint(to+7))
				return nil
			}, concurrency.WithAbortContext(b.ctx))
			failures <- err
		})
	}
	group.Wait()
	for range 10 {
		if err := <-failures; err != nil {
			return err
		}
	}
	got, err := b.client.Get(b.ctx, "f", clientv3.WithRange("u"))
	return all(err, same("accounts", keysOf(got), "from=30 to=70"))
}

func namespaced(b *bench) error {
	kv, watcher := namespace.NewKV(b.client, "team/"), namespace.NewWatcher(b.client, "team/")
	lease := namespace.NewLease(b.client, "team/")
	events := watcher.Watch(b.ctx, "a")
	granted, err := lease.Grant(b.ctx, 60)
	if err != nil {
		return err
	}
	if _, err := kv.Put(b.ctx, "a", "1", clientv3.WithLease(granted.ID)); err != nil {
		return err
	}
	inside, err := kv.Get(b.ctx, "", clientv3.WithFromKey())
	if err != nil {
		return err
	}
	outside, err := b.client.Get(b.ctx, "team/a")
	if err != nil {
		return err
	}
	left, err := lease.TimeToLive(b.ctx, granted.ID, clientv3.WithAttachedKeys())
	if err != nil {
		return err
	}
	got, err := take(b.ctx, events, 1)
	return all(err, same("inside", keysOf(inside), "a=1"), same("outside", keysOf(outside), "team/a=1"),
		same("event", got, "PUT a=1"), same("lease key", string(left.Keys[0]), "a"))
}

func naming(b *bench) error {
	manager, err := endpoints.NewManager(b.client, "service")
	if err != nil {
		return err
	}
	updates, err := manager.NewWatchChannel(b.ctx)
	if err != nil {
		return err
	}
	if err := manager.AddEndpoint(b.ctx, "service/one", endpoints.Endpoint{Addr: "127.0.0.1:1"}); err != nil {
		return err
	}
	if err := manager.AddEndpoint(b.ctx, "service/two", endpoints.Endpoint{Addr: "127.0.0.1:2"}); err != nil {
		return err
	}
	list, err := manager.List(b.ctx)
	if err != nil {
		return err
	}
	if err := manager.DeleteEndpoint(b.ctx, "service/one"); err != nil {
		return err
	}
	seen := ""
	for seen != "0 service/one,0 service/two,1 service/one," {
		select {
		case batch := <-updates:
			for _, u := range batch {
				seen += fmt.Sprintf("%d %s,", u.Op, u.Key)
			}
		case <-b.ctx.Done():
			return fmt.Errorf("updates were %s", seen)
		}
	}
	return same("endpoints", len(list), 2)
}
