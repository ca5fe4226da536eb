package main

// Reads, writes, transactions, compaction, status.

import (
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

var dataChecks = []check{
	{"put, get, delete", putGetDelete},
	{"prefix, sort, limit and paging", paging},
	{"reads at older revisions", olderRevisions},
	{"compare and swap", compareAndSwap},
	{"nested transaction", nestedTransaction},
	{"typed errors", typedErrors},
	{"range stream", rangeStream},
	{"data survive a kill", survivesKill},
	{"status, members, hash and alarms", maintenance},
}

func putGetDelete(b *bench) error {
	first, err := b.client.Put(b.ctx, "a", "1")
	if err != nil {
		return err
	}
	second, err := b.client.Put(b.ctx, "a", "2", clientv3.WithPrevKV())
	if err != nil {
		return err
	}
	got, err := b.client.Get(b.ctx, "a")
	if err != nil {
		return err
	}
	gone, err := b.client.Delete(b.ctx, "a", clientv3.WithPrevKV())
	if err != nil {
		return err
	}
	empty, err := b.client.Get(b.ctx, "a")
	if err != nil {
		return err
	}
	return all(same("revision step", second.Header.Revision-first.Header.Revision, 1),
		same("previous value", string(second.PrevKv.Value), "1"),
		same("keys", keysOf(got), "a=2"), same("version", got.Kvs[0].Version, 2),
		same("create revision", got.Kvs[0].CreateRevision, first.Header.Revision),
		same("deleted", gone.Deleted, 1), same("deleted value", string(gone.PrevKvs[0].Value), "2"),
		same("count after delete", empty.Count, 0))
}

func paging(b *bench) error {
	for i := range 10 {
		if _, err := b.client.Put(b.ctx, fmt.Sprintf("p/%d", i), fmt.Sprint(9-i)); err != nil {
			return err
		}
	}
	sorted, err := b.client.Get(b.ctx, "p/", clientv3.WithPrefix(), clientv3.WithLimit(3),
		clientv3.WithSort(clientv3.SortByValue, clientv3.SortAscend))
	if err != nil {
		return err
	}
	key, seen := "p/", ""
	for {
		page, err := b.client.Get(b.ctx, key, clientv3.WithRange("p0"), clientv3.WithLimit(4))
		if err != nil {
			return err
		}
		seen += fmt.Sprintf("%d/%d/%v ", len(page.Kvs), page.Count, page.More)
		if !page.More {
			break
		}
		key = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
	}
	last, err := b.client.Get(b.ctx, "p/", clientv3.WithLastKey()...)
	if err != nil {
		return err
	}
	return all(same("by value", keysOf(sorted), "p/9=0 p/8=1 p/7=2"), same("more", sorted.More, true),
		same("pages", seen, "4/10/true 4/6/true 2/2/false "), same("last key", keysOf(last), "p/9=0"))
}

func olderRevisions(b *bench) error {
	put, err := b.client.Put(b.ctx, "a", "1")
	if err != nil {
		return err
	}
	if _, err = b.client.Put(b.ctx, "a", "2"); err != nil {
		return err
	}
	old, err := b.client.Get(b.ctx, "a", clientv3.WithRev(put.Header.Revision))
	if err != nil {
		return err
	}
	if _, err = b.client.Compact(b.ctx, put.Header.Revision+1, clientv3.WithCompactPhysical()); err != nil {
		return err
	}
	_, compacted := b.client.Get(b.ctx, "a", clientv3.WithRev(put.Header.Revision))
	_, future := b.client.Get(b.ctx, "a", clientv3.WithRev(put.Header.Revision+100))
	return all(same("old value", keysOf(old), "a=1"),
		same("header shows now", old.Header.Revision, put.Header.Revision+1),
		same("compacted", errors.Is(compacted, rpctypes.ErrCompacted), true),
		same("future", errors.Is(future, rpctypes.ErrFutureRev), true))
}

func compareAndSwap(b *bench) error {
	create := func() (*clientv3.TxnResponse, error) {
		return b.client.Txn(b.ctx).If(clientv3.Compare(clientv3.ModRevision("a"), "=", 0)).
			Then(clientv3.OpPut("a", "new")).Else(clientv3.OpGet("a")).Commit()
	}
	first, err := create()
	if err != nil {
		return err
	}
	second, err := create()
	if err != nil {
		return err
	}
	value, err := b.client.Txn(b.ctx).If(clientv3.Compare(clientv3.Value("a"), "=", "new"),
		clientv3.Compare(clientv3.Version("a"), "<", 2)).
		Then(clientv3.OpPut("a", "newer"), clientv3.OpDelete("zz"), clientv3.OpGet("a")).Commit()
	if err != nil {
		return err
	}
	return all(same("first", first.Succeeded, true), same("second", second.Succeeded, false),
		same("present value", string(second.Responses[0].GetResponseRange().Kvs[0].Value), "new"),
		same("third", value.Succeeded, true), same("answers", len(value.Responses), 3),
		same("own write", string(value.Responses[2].GetResponseRange().Kvs[0].Value), "newer"))
}

func nestedTransaction(b *bench) error {
	inner := clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision("b"), "=", 0)},
		[]clientv3.Op{clientv3.OpPut("b", "inner")}, nil)
	answer, err := b.client.Txn(b.ctx).Then(clientv3.OpPut("a", "outer"), inner).Commit()
	if err != nil {
		return err
	}
	got, err := b.client.Get(b.ctx, "a", clientv3.WithRange("c"))
	if err != nil {
		return err
	}
	return all(same("keys", keysOf(got), "a=outer b=inner"),
		same("inner", answer.Responses[1].GetResponseTxn().Succeeded, true),
		same("one revision", got.Kvs[0].ModRevision, got.Kvs[1].ModRevision))
}

func typedErrors(b *bench) error {
	_, empty := b.client.Put(b.ctx, "", "x")
	_, lease := b.client.Put(b.ctx, "a", "x", clientv3.WithLease(clientv3.LeaseID(4711)))
	_, twice := b.client.Txn(b.ctx).Then(clientv3.OpPut("a", "1"), clientv3.OpPut("a", "2")).Commit()
	_, large := b.client.Put(b.ctx, "a", string(make([]byte, 1600000)))
	_, missing := b.client.Put(b.ctx, "nowhere", "", clientv3.WithIgnoreValue())
	return all(same("empty key", errors.Is(empty, rpctypes.ErrEmptyKey), true),
		same("unknown lease", errors.Is(lease, rpctypes.ErrLeaseNotFound), true),
		same("duplicate key", errors.Is(twice, rpctypes.ErrDuplicateKey), true),
		same("too large", errors.Is(large, rpctypes.ErrRequestTooLarge), true),
		same("missing key", errors.Is(missing, rpctypes.ErrKeyNotFound), true))
}

func rangeStream(b *bench) error {
	for i := range 30 {
		if _, err := b.client.Put(b.ctx, fmt.Sprintf("s/%02d", i), "v"); err != nil {
			return err
		}
	}
	stream, err := b.client.GetStream(b.ctx, "s/", clientv3.WithPrefix())
	if err != nil {
		return err
	}
	answer, err := clientv3.GetStreamToGetResponse(stream)
	if err != nil {
		return err
	}
	return all(same("keys", len(answer.Kvs), 30), same("count", answer.Count, 30))
}

func survivesKill(b *bench) error {
	for i := range 50 {
		if _, err := b.client.Put(b.ctx, fmt.Sprintf("d/%02d", i), "v"); err != nil {
			return err
		}
	}
	before, err := b.client.Get(b.ctx, "d/", clientv3.WithPrefix())
	if err != nil {
		return err
	}
	b.server.kill()
	if err := b.server.start(); err != nil {
		return err
	}
	after, err := b.client.Get(b.ctx, "d/", clientv3.WithPrefix())
	if err != nil {
		return err
	}
	return all(same("count", after.Count, 50), same("revision", after.Header.Revision, before.Header.Revision),
		same("keys", keysOf(after), keysOf(before)))
}

func maintenance(b *bench) error {
	status, err := b.client.Status(b.ctx, b.server.client)
	if err != nil {
		return err
	}
	members, err := b.client.MemberList(b.ctx)
	if err != nil {
		return err
	}
	hash, err := b.client.HashKV(b.ctx, b.server.client, 0)
	if err != nil {
		return err
	}
	alarms, err := b.client.AlarmList(b.ctx)
	if err != nil {
		return err
	}
	if _, err := b.client.Defragment(b.ctx, b.server.client); err != nil {
		return err
	}
	return all(same("leader", status.Leader, status.Header.MemberId), same("members", len(members.Members), 1),
		same("name", members.Members[0].Name, "interop"), same("alarms", len(alarms.Alarms), 0),
		same("hash at the head", hash.HashRevision, hash.Header.Revision),
		same("size is known", status.DbSize > 0, true))
}
