// Drives the Node client etcd3, unmodified, against the server that SERVER names.
'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { setTimeout: pause } = require('node:timers/promises');
const { EtcdLockFailedError } = require('etcd3');
const { Server } = require('./server.js');

const CHECK_TIMEOUT = 60000;

// Collects the events of a watcher; take(n) waits for so many.
function collect(watcher) {
  const seen = [];
  let wake = () => {};
  watcher.on('put', (kv) => { seen.push(`put ${kv.key}=${kv.value}`); wake(); });
  watcher.on('delete', (kv) => { seen.push(`delete ${kv.key}`); wake(); });
  return {
    async take(count) {
      while (seen.length < count) await new Promise((resolve) => { wake = resolve; });
      return seen.splice(0, count);
    },
  };
}

const checks = {
  async 'put, get, delete'(server, etcd) {
    await etcd.put('a').value('1');
    await etcd.put('a').value('2');
    assert.equal(await etcd.get('a').string(), '2');
    assert.equal((await etcd.get('a').exec()).kvs[0].version, '2');
    assert.equal((await etcd.delete().key('a')).deleted, '1');
    assert.equal(await etcd.get('a').string(), null);
  },

  async 'prefix, sort, limit'(server, etcd) {
    for (let i = 0; i < 5; i++) await etcd.put(`p/${i}`).value(String(9 - i));
    assert.deepEqual(await etcd.getAll().prefix('p/').keys(), ['p/0', 'p/1', 'p/2', 'p/3', 'p/4']);
    assert.deepEqual(await etcd.getAll().prefix('p/').sort('Value', 'Ascend').limit(2).keys(), ['p/4', 'p/3']);
    assert.equal(await etcd.getAll().prefix('p/').count(), 5);
    assert.equal((await etcd.delete().prefix('p/')).deleted, '5');
  },

  async 'compare and swap'(server, etcd) {
    const create = () => etcd.if('a', 'Version', '==', 0).then(etcd.put('a').value('new'))
      .else(etcd.get('a')).commit();
    assert.equal((await create()).succeeded, true);
    const second = await create();
    assert.equal(second.succeeded, false);
    assert.equal(second.responses[0].response_range.kvs[0].value.toString(), 'new');
    const third = await etcd.if('a', 'Value', '==', 'new').and('a', 'Version', '<', 2)
      .then(etcd.put('a').value('newer'), etcd.delete().key('zz')).commit();
    assert.equal(third.succeeded, true);
    assert.equal(await etcd.get('a').string(), 'newer');
  },

  async 'software transaction'(server, etcd) {
    await etcd.put('counter').value('0');
    const add = () => etcd.stm({ retries: 50 }).transact(async (tx) => {
      await tx.put('counter').value(String(Number(await tx.get('counter').string()) + 1));
    });
    await Promise.all([add(), add(), add(), add()]);
    assert.equal(await etcd.get('counter').string(), '4');
  },

  async 'watch'(server, etcd) {
    const watcher = await etcd.watch().prefix('w/').create();
    const events = collect(watcher);
    await etcd.put('w/a').value('1');
    await etcd.put('x').value('no');
    await etcd.delete().key('w/a');
    assert.deepEqual(await events.take(2), ['put w/a=1', 'delete w/a']);
    await watcher.cancel();
  },

  async 'watch from history'(server, etcd) {
    const first = await etcd.put('w/a').value('1');
    await etcd.put('w/b').value('2');
    const builder = etcd.watch().prefix('w/').startRevision(first.header.revision).watcher();
    const events = collect(builder);
    assert.deepEqual(await events.take(2), ['put w/a=1', 'put w/b=2']);
    await builder.cancel();
  },

  async 'watch resumes after a restart'(server, etcd) {
    const watcher = await etcd.watch().prefix('w/').create();
    const events = collect(watcher);
    await etcd.put('w/a').value('1');
    assert.deepEqual(await events.take(1), ['put w/a=1']);
    await server.stop();
    await server.start();
    const other = server.client();
    await other.put('w/a').value('2');
    await other.put('w/a').value('3');
    other.close();
    assert.deepEqual(await events.take(2), ['put w/a=2', 'put w/a=3']);
    await watcher.cancel();
  },

  async 'watch resumes after a kill'(server, etcd) {
    const watcher = await etcd.watch().prefix('w/').create();
    const events = collect(watcher);
    await etcd.put('w/a').value('1');
    assert.deepEqual(await events.take(1), ['put w/a=1']);
    await server.kill();
    await server.start();
    const other = server.client();
    await other.delete().key('w/a');
    other.close();
    assert.deepEqual(await events.take(1), ['delete w/a']);
    await watcher.cancel();
  },

  async 'lease: grant, attach, revoke'(server, etcd) {
    const lease = etcd.lease(600, { autoKeepAlive: false });
    await lease.put('l/a').value('1');
    const left = await etcd.leaseClient.leaseTimeToLive({ ID: await lease.grant(), keys: true });
    assert.equal(left.grantedTTL, '600');
    assert.deepEqual(left.keys.map(String), ['l/a']);
    await lease.revoke();
    assert.equal(await etcd.get('l/a').string(), null);
  },

  async 'lease: keep-alive holds it past its time'(server, etcd) {
    const lease = etcd.lease(2);
    await lease.put('l/a').value('1');
    await pause(5000);
    assert.equal(await etcd.get('l/a').string(), '1');
    await lease.revoke();
  },

  async 'lease: without keep-alive it ends'(server, etcd) {
    const watcher = await etcd.watch().key('l/a').create();
    const events = collect(watcher);
    const lease = etcd.lease(2, { autoKeepAlive: false });
    await lease.put('l/a').value('1');
    assert.deepEqual(await events.take(2), ['put l/a=1', 'delete l/a']);
    await watcher.cancel();
  },

  async 'lease: keep-alive goes on after a restart'(server, etcd) {
    const lease = etcd.lease(5);
    await lease.put('l/a').value('1');
    let beats = 0;
    lease.on('keepaliveSucceeded', () => { beats += 1; });
    await server.kill();
    await server.start();
    await pause(7000);
    assert.ok(beats > 0, 'no keep-alive came back after the restart');
    const other = server.client();
    assert.equal(await other.get('l/a').string(), '1');
    other.close();
    await lease.revoke();
  },

  async 'lock is handed over'(server, etcd) {
    const first = await etcd.lock('lock').ttl(20).acquire();
    await assert.rejects(etcd.lock('lock').ttl(20).acquire(), EtcdLockFailedError);
    await first.release();
    const second = await etcd.lock('lock').ttl(20).acquire();
    await second.release();
  },

  async 'election'(server, etcd) {
    const election = etcd.election('election', 10);
    const first = election.campaign('first');
    await once(first, 'elected');
    const observer = await election.observe();
    assert.equal(observer.leader(), 'first');
    const second = election.campaign('second');
    const won = once(second, 'elected');
    await first.resign();
    await won;
    while (observer.leader() !== 'second') await once(observer, 'change');
    await observer.cancel();
    await second.resign();
  },

  async 'namespace'(server, etcd) {
    const team = etcd.namespace('team/');
    await team.put('a').value('1');
    assert.deepEqual(await team.getAll().keys(), ['a']);
    assert.equal(await etcd.get('team/a').string(), '1');
  },

  async 'data survive a kill'(server, etcd) {
    for (let i = 0; i < 20; i++) await etcd.put(`d/${i}`).value('v');
    await server.kill();
    await server.start();
    const other = server.client();
    assert.equal(await other.getAll().prefix('d/').count(), 20);
    other.close();
  },

  async 'status and members'(server, etcd) {
    const status = await etcd.maintenance.status();
    assert.match(status.version, /^3\.7\.\d+$/);
    assert.ok(Number(status.dbSize) > 0);
    const members = await etcd.cluster.memberList({});
    assert.deepEqual(members.members.map((m) => m.name), ['interop']);
  },
};

// Runs one check on an emptied key space, with a client of its own.
async function one(server, run) {
  const etcd = server.client();
  const tooLong = new AbortController();
  try {
    await etcd.delete().all();
    await Promise.race([
      run(server, etcd),
      pause(CHECK_TIMEOUT, null, { signal: tooLong.signal }).then(() => { throw new Error('too long'); }),
    ]);
  } finally {
    tooLong.abort();
    etcd.close();
  }
}

async function main() {
  const server = await Server.create(process.env.SERVER);
  let passed = 0;
  let failed = 0;
  // The client reports a connection that a restart cut also where nobody can catch it.
  process.on('unhandledRejection', (error) => {
    if (error.name !== 'AbortError') console.error(`unhandled: ${error}`);
  });
  try {
    await server.start();
    for (const [name, run] of Object.entries(checks)) {
      try {
        await one(server, run);
        passed += 1;
      } catch (error) {
        failed += 1;
        console.log(`FAIL ${name}: ${error.stack}`);
      }
    }
  } catch (error) {
    failed += 1;
    console.log(`FAIL: ${error.stack}`);
  } finally {
    await server.stop();
    server.remove();
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed > 0 || passed === 0 ? 1 : 0);
}

main();
