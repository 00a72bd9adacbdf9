/** An image with the services of the last release, on this version's base. */

import { cp, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writeLastRelease } from '../../../scripts/release/last-release.ts'
import { CACHE } from '../engine/engine.ts'
import { build, imageOf } from '../engine/images.ts'
import { FORMER_IMAGE, PRESENT_TAG } from './project.ts'

const ROOT = join(import.meta.dirname, '../../..')

export async function makeFormerImage(): Promise<void> {
  const context = await mkdtemp(join(CACHE, 'former-'))
  try {
    const services = join(context, 'services')
    await writeLastRelease(ROOT, services)
    await cp(join(ROOT, 'deploy/healthcheck.mjs'), join(services, 'healthcheck.mjs'))
    const dockerfile = join(import.meta.dirname, 'former.Dockerfile')
    await build([
      '--file',
      dockerfile,
      '--build-arg',
      `BASE=${imageOf('keys', PRESENT_TAG)}`,
      '--tag',
      FORMER_IMAGE,
      context,
    ])
  } finally {
    await rm(context, { recursive: true })
  }
}
