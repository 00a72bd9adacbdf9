/** The contents of an image in CycloneDX's words: pnpm's list of packages. The base is named; its packages are not. */

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { planOf } from '../deploy/dockerfile.ts'
import { PREFER_OFFLINE } from '../deploy/fill-app.ts'

const ROOT = join(import.meta.dirname, '../..')

interface Bill {
  serialNumber: string
  metadata: { timestamp: string; component: Component }
  components: Component[]
  dependencies: { ref: string; dependsOn?: string[] }[]
}

interface Component {
  'bom-ref': string
}

export interface Described {
  target: string
  version: string
  /** The digest of the image's contents. */
  digest: string
  base: string
  createdAt: number
}

export async function billOfMaterials({ target, version, digest, base, createdAt }: Described): Promise<Buffer> {
  const bill = await packagesOf(target)
  const purl = `pkg:oci/${target}@${encodeURIComponent(digest)}`
  const described = {
    ...bill,
    metadata: {
      ...bill.metadata,
      timestamp: new Date(createdAt * 1000).toISOString(),
      component: { type: 'container', name: `model-gateway/${target}`, version, purl, 'bom-ref': purl },
    },
    components: [
      bill.metadata.component,
      ...bill.components.toSorted(byRef),
      { type: 'container', name: base, 'bom-ref': base },
    ],
    dependencies: bill.dependencies
      .map((one) => ({ ...one, ...(one.dependsOn && { dependsOn: one.dependsOn.toSorted() }) }))
      .toSorted((a, b) => (a.ref < b.ref ? -1 : 1)),
    serialNumber: '',
  }
  described.serialNumber = `urn:uuid:${uuidOf(JSON.stringify(described))}`
  return Buffer.from(`${JSON.stringify(described, null, 2)}\n`)
}

async function packagesOf(target: string): Promise<Bill> {
  const { fill, fillEnvironment } = planOf(target)
  const folder = await mkdtemp(join(tmpdir(), 'gateway-bill-'))
  try {
    const out = join(folder, 'bill.json')
    const [program, ...pnpm] = fillEnvironment['PNPM']!.split(' ')
    const what = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--prod', '--no-optional']
    const args = [...pnpm, 'sbom', ...what, '--filter', `./${fill.at(-2)}`, '--out', out]
    await promisify(execFile)(program!, args, { cwd: ROOT, env: { ...process.env, ...PREFER_OFFLINE } })
    return JSON.parse(await readFile(out, 'utf8')) as Bill
  } finally {
    await rm(folder, { recursive: true })
  }
}

function byRef(a: Component, b: Component): number {
  return a['bom-ref'] < b['bom-ref'] ? -1 : 1
}

/** The same content has the same number (version 8: made by a rule of one's own). */
function uuidOf(content: string): string {
  const hex = createHash('sha256').update(content).digest('hex')
  const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16)
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join('-')
}
