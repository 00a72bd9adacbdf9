/** The images of a release: one archive and one bill of materials for each target of `deploy/Dockerfile`. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { planOf } from '../../deploy/dockerfile.ts'
import type { Base, RunConfig } from './base.ts'
import { billOfMaterials } from './bill-of-materials.ts'
import { entriesBelow, fillApp } from './fill-app.ts'
import { makeLayer } from './layer.ts'
import { type OciArchive, ociArchive } from './oci-archive.ts'

const ROOT = join(import.meta.dirname, '../../..')
const NANOSECONDS = 1e9

export interface Release {
  version: string
  commit: string
  /** In seconds since 1970. */
  createdAt: number
}

export interface ReleasedImage extends OciArchive {
  name: string
  bill: Buffer
}

export async function makeImage(target: string, base: Base, release: Release): Promise<ReleasedImage> {
  const { version, createdAt } = release
  const folder = await mkdtemp(join(tmpdir(), 'gateway-image-'))
  try {
    await fillApp(target, join(folder, 'app'), ROOT)
    const own = await makeLayer(await entriesBelow(join(folder, 'app'), 'app'), createdAt)
    const { layers, components, config, ...platform } = base
    const name = `model-gateway/${target}`
    const image = { ...platform, layers: [...layers, own], config: configOf(target, config, release), createdAt }
    const archive = ociArchive({ ...image, name: `${name}:${version}` })
    const described = { target, version, digest: archive.digest, components, createdAt }
    return { ...archive, name, bill: await billOfMaterials(described) }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** As an engine would set it after the Dockerfile's instructions. */
export function configOf(target: string, base: RunConfig, { version, commit }: Release): RunConfig {
  const { user, ports, environment, entrypoint, command, workingFolder, labels, stopSignal } = planOf(target)
  const replaced = new Set(Object.keys(environment))
  const kept = (base.Env ?? []).filter((one) => !replaced.has(one.slice(0, one.indexOf('='))))
  const argument: Record<string, string> = { VERSION: version, REVISION: commit }
  const filledIn = Object.entries(labels).map(([name, value]) => {
    return [name, value.replace(/\$\{(\w+)\}/g, (_, variable: string) => argument[variable]!)]
  })
  return {
    User: user,
    ExposedPorts: Object.fromEntries(ports.map((port) => [`${port}/tcp`, {}])),
    Env: [...kept, ...Object.entries(environment).map(([name, value]) => `${name}=${value}`)],
    Entrypoint: entrypoint,
    ...(command.length > 0 && { Cmd: command }),
    WorkingDir: workingFolder,
    Labels: { ...base.Labels, ...(Object.fromEntries(filledIn) as Record<string, string>) },
    StopSignal: stopSignal,
    Healthcheck: healthcheckOf(target),
  }
}

function healthcheckOf(target: string): NonNullable<RunConfig['Healthcheck']> {
  const { command, seconds } = planOf(target).healthcheck
  if (command.length === 0) return { Test: ['NONE'] }
  const after = (name: string): number => seconds[name]! * NANOSECONDS
  return {
    Test: ['CMD', ...command],
    Interval: after('interval'),
    Timeout: after('timeout'),
    StartPeriod: after('start-period'),
    Retries: seconds['retries']!,
  }
}
