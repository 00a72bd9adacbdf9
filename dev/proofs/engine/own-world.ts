/**
 * Runs a script in namespaces of its own: network, processes and mounts. An engine in there makes bridges, rules, mounts and
 * daemons that the machine never sees. The kernel ends all of them with the script, however that ends.
 *
 * slirp4netns, a program without privileges, carries the world's connections out: no rule of the machine changes.
 * Control groups have no such namespace: this module removes the ones of its own and of killed runs.
 */

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync, rmdirSync } from 'node:fs'
import type { Duplex, Readable } from 'node:stream'
import { dieWithParent } from '@gateway/embedded-postgres/die-with-parent'

const CONTROL_GROUP = 'model-gateway-prove-'

/** The shell stays process 1: it reaps orphans. */
const ENTER = `
set -e
mount -t tmpfs tmpfs /run
names=$(readlink -m /etc/resolv.conf)
mkdir -p "$(dirname "$names")" && [ -e "$names" ] || : > "$names"
echo 'nameserver 10.0.2.3' > /run/resolv.conf && mount --bind /run/resolv.conf "$names"
ip link set lo up
echo entered >&3
read -r _ <&3
exec 3>&-
"$@"
exit $?
`

/** Returns the script's exit code. */
export async function runInOwnWorld(script: string, args: string[]): Promise<number> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) throw new Error('namespaces need root on Linux')
  removeControlGroups()
  const namespaces = ['--net', '--mount', '--pid', '--fork', '--mount-proc', '--kill-child']
  const shell = ['sh', '-c', ENTER, 'sh', process.execPath, script, ...args]
  const world = spawn('unshare', [...namespaces, ...shell], {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: {
      ...process.env,
      DOCKER_HOST: 'unix:///run/docker.sock',
      PROVE_CONTROL_GROUP: `${CONTROL_GROUP}${process.pid}`,
    },
  })
  dieWithParent(world)
  const ended = once(world, 'exit') as Promise<[number | null]>
  // The world ends first; then this process cleans.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => world.kill('SIGKILL'))
  let wire: ChildProcess | undefined
  try {
    const door = world.stdio[3] as Duplex
    if ((await Promise.race([once(door, 'data'), ended])).length > 0 && world.exitCode === null) {
      wire = await connectOutside(world)
      door.write('\n')
    }
    const [code] = await ended
    return code ?? 1
  } finally {
    wire?.kill('SIGKILL')
    removeControlGroups(process.pid)
  }
}

async function connectOutside(world: ChildProcess): Promise<ChildProcess> {
  const args = ['--configure', '--mtu=65520', '--disable-host-loopback', '--ready-fd=3', String(world.pid), 'tap0']
  const wire = spawn('slirp4netns', args, { stdio: ['ignore', 'ignore', 'pipe', 'pipe'], detached: true })
  dieWithParent(wire)
  let words = ''
  wire.stderr!.setEncoding('utf8').on('data', (text: string) => (words += text))
  const ready = once(wire.stdio[3] as Readable, 'data').then(() => true)
  const lives = await Promise.race([ready, once(wire, 'exit').then(() => false)])
  if (!lives) throw new Error(`slirp4netns did not connect the network namespace: ${words.trim()}`)
  return wire
}

/** Those of this process, or else those of processes that are gone. Empty ones alone can be removed. */
function removeControlGroups(own?: number): void {
  const roots = globSync([`/sys/fs/cgroup/${CONTROL_GROUP}*`, `/sys/fs/cgroup/*/${CONTROL_GROUP}*`])
  for (const root of roots) {
    const pid = Number(root.slice(root.lastIndexOf('-') + 1))
    if (own === undefined ? existsSync(`/proc/${pid}`) : pid !== own) continue
    const inner = globSync('**/', { cwd: root }).filter((name) => name !== '.')
    // The innermost first.
    for (const name of inner.toSorted((a, b) => b.length - a.length)) removeEmptied(`${root}/${name}`)
    removeEmptied(root)
  }
}

function removeEmptied(group: string): void {
  try {
    rmdirSync(group)
  } catch (error) {
    if (existsSync(group)) process.stderr.write(`${group} stays: ${(error as Error).message}\n`)
  }
}

/** The control group of this world, for the processes that start in it. */
export function controlGroup(): string {
  const name = process.env['PROVE_CONTROL_GROUP']
  if (!name || !readFileSync('/proc/1/cmdline', 'utf8').startsWith('sh\0'))
    throw new Error('this is not a world of its own')
  return `/${name}`
}
