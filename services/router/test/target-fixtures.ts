/** The fixtures of all target dialects, from their files in `targets/`. */

import { targetDialects, type TargetDialect } from '@gateway/contracts/vendors'
import type { TargetFixture } from './target-fixture.ts'

const loaded = targetDialects.map(async (target) => {
  const { fixture } = (await import(`./targets/${target}.ts`)) as { fixture: TargetFixture }
  return [target, fixture] as const
})

export const TARGETS = Object.fromEntries(await Promise.all(loaded)) as Record<TargetDialect, TargetFixture>
