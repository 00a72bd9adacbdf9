/**
 * The machine inside an own world: folders in memory for all state, and two hosts that a bridge connects.
 */

import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { promisify } from 'node:util'

export const execute = promisify(execFile)

export interface Host {
  readonly name: string
  readonly address: string
  /** The addresses of its pods. */
  readonly podRange: string
  /** The command that runs a program on it. */
  command(file: string, args: string[]): Command
}

export interface Command {
  file: string
  args: string[]
}

/** Programs write here and to `/run`, and all of it goes with the mount namespace. */
const FOLDERS = ['/var/lib', '/var/log']
const STATE = '/run/prove'
const BRIDGE = 'hosts'
export const SECOND_HOST = 'two'

/** Returns the folder for state. */
export async function openMachine(): Promise<string> {
  await mkdir(STATE)
  for (const folder of [STATE, ...FOLDERS])
    await run('mount', '-t', 'tmpfs', '-o', 'size=12g,mode=0755', 'tmpfs', folder)
  await run('ip', 'link', 'add', BRIDGE, 'type', 'bridge')
  await run('ip', 'link', 'set', BRIDGE, 'up')
  // Before any pod: the first name of a namespace mounts their folder again, and older names could not be removed.
  await run('ip', 'netns', 'add', SECOND_HOST)
  return STATE
}

/** The machine itself. */
export async function openFirstHost(): Promise<Host> {
  const host = { ...placeOf(1), name: 'one', command: (file: string, args: string[]) => ({ file, args }) }
  await run('ip', 'address', 'add', `${host.address}/24`, 'dev', BRIDGE)
  return host
}

/** A network namespace that is plugged into the bridge. */
export async function openSecondHost(first: Host): Promise<Host> {
  const host: Host = {
    ...placeOf(2),
    name: SECOND_HOST,
    command: (file, args) => ({ file: 'nsenter', args: [`--net=/run/netns/${SECOND_HOST}`, file, ...args] }),
  }
  await run('ip', 'link', 'add', SECOND_HOST, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', SECOND_HOST)
  await run('ip', 'link', 'set', SECOND_HOST, 'master', BRIDGE, 'up')
  await runOn(host, 'ip', 'link', 'set', 'lo', 'up')
  await runOn(host, 'ip', 'address', 'add', `${host.address}/24`, 'dev', 'eth0')
  await runOn(host, 'ip', 'link', 'set', 'eth0', 'up')
  await runOn(host, 'ip', 'route', 'add', 'default', 'via', first.address)
  await run('ip', 'route', 'add', host.podRange, 'via', host.address)
  return host
}

export async function runOn(host: Host, program: string, ...words: string[]): Promise<string> {
  const { file, args } = host.command(program, words)
  return (await execute(file, args)).stdout
}

async function run(program: string, ...words: string[]): Promise<void> {
  await execute(program, words)
}

/** Sets the kernel's forwarding as a node has it. */
export async function forwardPackets(host: Host): Promise<void> {
  await runOn(host, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward')
  // A pod that is gone has no route of its own: packets to it would leave this world.
  await runOn(host, 'ip', 'route', 'add', 'unreachable', host.podRange)
  // A container engine has set DROP.
  await runOn(host, 'iptables', '--policy', 'FORWARD', 'ACCEPT')
}

function placeOf(index: number): Pick<Host, 'address' | 'podRange'> {
  return { address: `10.200.0.${index}`, podRange: `10.85.${index}.0/24` }
}
