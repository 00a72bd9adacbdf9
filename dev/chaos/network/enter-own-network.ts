/**
 * Starts this process again in a network of its own. The kernel takes the network down when its last process has ended.
 */

import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { UsageError } from '@gateway/service/report-fatal'

const INSIDE = 'CHAOS_OWN_NETWORK'

export function enterOwnNetwork(): void {
  if (process.env[INSIDE]) return
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    throw new UsageError('--network makes network namespaces: run it as root on Linux')
  for (const [program, from] of [
    ['ip', 'iproute2'],
    ['iptables', 'iptables'],
    ['unshare', 'util-linux'],
    ['python3', 'python3'],
  ] as const) {
    if (!find(program)) throw new UsageError(`--network needs ${program}: apt-get install ${from}`)
  }
  mkdirSync('/run/netns', { recursive: true })
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  // Names of namespaces are mounts, which nobody outside is to see.
  const script = 'mount -t tmpfs tmpfs /run/netns && exec "$@"'
  const own = ['--net', '--mount', '--propagation', 'private']
  const args = ['unshare', ...own, 'sh', '-c', script, 'sh', ...again]
  process.execve!(find('unshare')!, args, { ...process.env, [INSIDE]: '1' })
}

function find(program: string): string | null {
  try {
    return execFileSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).trim()
  } catch {
    return null
  }
}
