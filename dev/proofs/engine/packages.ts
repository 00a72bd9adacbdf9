/**
 * The programs that a proof needs of Debian. `install` says which package it installs, and refuses where it may not.
 */

import { findProgram } from '@gateway/servers/find-program'
import { install } from '@gateway/servers/install'

/** Programs of the engine, each with its package. */
export const ENGINE_PROGRAMS = {
  dockerd: 'docker.io',
  iptables: 'iptables',
  debootstrap: 'debootstrap',
  slirp4netns: 'slirp4netns',
  skopeo: 'skopeo',
}

export async function ensurePrograms(programs: Record<string, string>): Promise<void> {
  for (const [program, name] of Object.entries(programs)) {
    const find = (): string | undefined => findProgram(program)
    if (!find()) await install({ name: program, package: name, variable: 'PATH', find })
  }
}
