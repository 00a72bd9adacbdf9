/**
 * Hosts on one machine: each process of the gateway has a network namespace with a cable to one switch. Servers, backends
 * and clients share the switch's own namespace, each with an address of its own there.
 *
 * Everybody goes on speaking to 127.0.0.1: each namespace sends a port on to the host that serves it. All of it lies in
 * namespaces of this process alone (`enterOwnNetwork`), and goes with it, however it ends.
 */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Hosts {
  /** The words before a command that run it on the host. */
  on(host: string): readonly string[]
  /** From now on the port of 127.0.0.1 leads new connections to this place. */
  serve(place: string, port: number, how?: { at?: number; unheardBy?: string | undefined }): Promise<void>
  /** Puts a rule about packets on a host's firewall; the returned function takes it off. */
  filter(host: string, rule: readonly string[]): Promise<() => Promise<void>>
  addressOf(place: string): string
}

const NET = '10.77.0'
const SWITCH = 'switch'

/** `hosts` get a namespace each; `beside` are places in the switch's own. */
export async function openHosts(hosts: readonly string[], beside: readonly string[]): Promise<Hosts> {
  const addresses = new Map([...beside, ...hosts].map((place, index) => [place, `${NET}.${index + 1}`]))
  const addressOf = (place: string) => addresses.get(place)!
  const on = (host: string | null) => (host === null ? [] : ['ip', 'netns', 'exec', host])
  const namespaces = [null, ...hosts]
  /** Each host's rule for each port. */
  const leading = new Map<string, string[]>()
  const command = async (host: string | null, ...words: string[]) => {
    const [file, ...args] = [...on(host), ...words]
    await run(file!, args)
  }

  await command(null, 'ip', 'link', 'set', 'lo', 'up')
  await command(null, 'ip', 'link', 'add', SWITCH, 'type', 'bridge')
  await command(null, 'ip', 'link', 'set', SWITCH, 'up')
  for (const place of beside) await command(null, 'ip', 'address', 'add', `${addressOf(place)}/24`, 'dev', SWITCH)
  for (const [index, host] of hosts.entries()) {
    const cable = `cable${index}`
    await command(null, 'ip', 'netns', 'add', host)
    await command(null, 'ip', 'link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', host)
    await command(null, 'ip', 'link', 'set', cable, 'master', SWITCH, 'up')
    await command(host, 'ip', 'address', 'add', `${addressOf(host)}/24`, 'dev', 'eth0')
    for (const device of ['lo', 'eth0']) await command(host, 'ip', 'link', 'set', device, 'up')
  }
  for (const host of namespaces) {
    const outward = host === null ? SWITCH : 'eth0'
    await command(host, 'sysctl', '-qw', 'net.ipv4.conf.all.route_localnet=1')
    // A connection to 127.0.0.1 leaves from the host's own address. Where it arrives it is one from 127.0.0.1 to 127.0.0.1.
    await command(host, ...nat('POSTROUTING', '-s', '127.0.0.1', '-o', outward, '-j', 'MASQUERADE'))
    // By its own addresses alone: a kernel that filters bridges shows the switch the packets between hosts too.
    for (const place of host === null ? beside : [host]) {
      const arriving = ['-i', outward, '-d', addressOf(place)]
      await command(host, ...nat('PREROUTING', ...arriving, '-j', 'DNAT', '--to-destination', '127.0.0.1'))
    }
    await command(host, ...nat('INPUT', '-s', `${NET}.0/24`, '-j', 'SNAT', '--to-source', '127.0.0.1'))
  }

  return {
    on,
    addressOf,
    async serve(place, port, { at = port, unheardBy } = {}) {
      const serving = hosts.includes(place) ? place : null
      const to = ['-j', 'DNAT', '--to-destination', `${addressOf(place)}:${at}`]
      const rule = ['OUTPUT', '-p', 'tcp', '-d', '127.0.0.1', '--dport', String(port), ...to]
      const lead = async (host: string | null) => {
        const name = `${host}:${port}`
        const former = leading.get(name)
        leading.delete(name)
        if (host !== serving || at !== port) {
          leading.set(name, rule)
          await command(host, ...IPTABLES_NAT, '-I', ...rule)
        }
        if (former) await command(host, ...IPTABLES_NAT, '-D', ...former)
      }
      await Promise.all(namespaces.filter((host) => host === null || host !== unheardBy).map(lead))
    },
    async filter(host, rule) {
      await command(host, 'iptables', '-w', '-A', ...rule)
      return () => command(host, 'iptables', '-w', '-D', ...rule)
    },
  }
}

const IPTABLES_NAT = ['iptables', '-w', '-t', 'nat']

function nat(chain: string, ...rule: string[]): string[] {
  return [...IPTABLES_NAT, '-A', chain, '-p', 'tcp', ...rule]
}
