/** A program's command on a host. */

import type { Hosts } from '../hosts.ts'

export function programOn(hosts: Hosts, host: string, program: string, given: readonly string[]) {
  const [file, ...args] = [...hosts.on(host), program, ...given]
  return { file: file!, args }
}
