// The server under test: a process on free loopback ports that keeps its data over a restart.
'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { once } = require('node:events');
const { setTimeout: pause } = require('node:timers/promises');
const { Etcd3 } = require('etcd3');

const START_TIMEOUT = 30000;

// Ports that nobody listens on: both are held until both are chosen.
async function freePorts(count) {
  const listeners = [];
  for (let i = 0; i < count; i++) {
    const listener = net.createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    listeners.push(listener);
  }
  const ports = listeners.map((l) => l.address().port);
  for (const listener of listeners) listener.close();
  return ports;
}

class Server {
  static async create(command) {
    const server = new Server();
    server.words = command.split(/\s+/).filter((word) => word);
    server.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'interop-node-'));
    [server.port, server.peer] = await freePorts(2);
    return server;
  }

  async start() {
    const [client, peer] = [this.port, this.peer].map((port) => `http://127.0.0.1:${port}`);
    const log = fs.openSync(path.join(this.folder, 'log'), 'a');
    this.process = spawn(this.words[0], this.words.slice(1).concat([
      '--name=interop', `--data-dir=${this.folder}/data`,
      `--listen-client-urls=${client}`, `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`, `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=interop=${peer}`,
    ]), { stdio: ['ignore', log, log] });
    fs.closeSync(log);
    const deadline = Date.now() + START_TIMEOUT;
    for (;;) {
      const etcd = this.client();
      try {
        await etcd.get('k').string();
        return;
      } catch (error) {
        if (Date.now() > deadline || this.process.exitCode !== null) {
          throw new Error(`the server does not answer: ${error}\n${this.log()}`);
        }
        await pause(100);
      } finally {
        etcd.close();
      }
    }
  }

  client() {
    return new Etcd3({ hosts: `http://127.0.0.1:${this.port}` });
  }

  async end(signal) {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const exited = once(this.process, 'exit');
    this.process.kill(signal);
    await exited;
  }

  kill() {
    return this.end('SIGKILL');
  }

  stop() {
    return this.end('SIGTERM');
  }

  log() {
    return fs.readFileSync(path.join(this.folder, 'log'), 'utf8').slice(-2000);
  }

  remove() {
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

module.exports = { Server };
