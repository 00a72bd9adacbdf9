/** Below a service's own files: layers with Node, and how the image stands until a service says otherwise. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Layer, makeLayer } from './layer.ts'
import { type DebianPackage, minimalBase } from './minimal-base.ts'

const ROOT = join(import.meta.dirname, '../../..')
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** `config` of an image, in the names of OCI and of Docker. */
export interface RunConfig {
  User?: string
  ExposedPorts?: Record<string, object>
  Env?: string[]
  Entrypoint?: string[]
  Cmd?: string[]
  WorkingDir?: string
  Labels?: Record<string, string>
  StopSignal?: string
  Healthcheck?: { Test: string[]; Interval?: number; Timeout?: number; StartPeriod?: number; Retries?: number }
}

export interface Base {
  architecture: string
  variant?: string
  layers: Layer[]
  config: RunConfig
  /** For the bill of materials, in CycloneDX's words. */
  components: object[]
}

/** Of this machine. */
export async function makeBase(modifiedAt: number): Promise<Base> {
  const { entries, packages } = minimalBase(join(ROOT, 'node_modules/node/bin/node'))
  return {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    layers: [await makeLayer(entries, modifiedAt)],
    config: { Env: [`PATH=${PATH}`] },
    components: [nodeComponent(), ...packages.map(packageComponent)],
  }
}

function nodeComponent(): object {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    devDependencies: { node: string }
  }
  const version = manifest.devDependencies.node
  return {
    type: 'application',
    name: 'node',
    version,
    purl: `pkg:npm/node@${version}`,
    'bom-ref': `pkg:npm/node@${version}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
  }
}

function packageComponent({ name, version, architecture }: DebianPackage): object {
  const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`
  return { type: 'library', name, version, purl, 'bom-ref': purl }
}
