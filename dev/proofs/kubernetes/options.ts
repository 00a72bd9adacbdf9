/**
 * The arguments of `npm run prove kubernetes`. With `--context` the proof runs on a cluster of the reader's, with images that
 * the cluster can pull. Without it, the command builds a cluster.
 */

import { parseArgs } from 'node:util'
import type { ClusterImages } from './cluster.ts'

/** `only`: a regular expression of the titles of proofs. */
export type ProofOptions =
  | { kind: 'own cluster'; isApiOnly: boolean; only: string }
  | { kind: 'given cluster'; context: string; images: ClusterImages; only: string }

const USAGE = `usage: npm run prove kubernetes -- [--only <expression>] [--api-only]
       npm run prove kubernetes -- [--only <expression>] --context <name> --registry <prefix> [--tag <tag>] [--other-tag <tag>]`
const OF_A_GIVEN_CLUSTER = ['registry', 'tag', 'other-tag'] as const

export function readOptions(args: readonly string[], version: string): ProofOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', default: '' },
      'api-only': { type: 'boolean', default: false },
      context: { type: 'string' },
      registry: { type: 'string' },
      tag: { type: 'string' },
      'other-tag': { type: 'string' },
    },
  })
  const { only, context, registry, tag = version } = values
  if (context === undefined) {
    const needless = OF_A_GIVEN_CLUSTER.find((name) => values[name] !== undefined)
    if (needless) throw new Error(`--${needless} is for a cluster that --context names\n${USAGE}`)
    return { kind: 'own cluster', isApiOnly: values['api-only'], only }
  }
  if (values['api-only'])
    throw new Error(`--api-only needs an API server without controllers: drop --context\n${USAGE}`)
  if (!context || !registry) throw new Error(`--context needs a name, and --registry the place of the images\n${USAGE}`)
  const otherTag = values['other-tag']
  const images: ClusterImages = {
    registry,
    tag,
    ...(otherTag && { otherTag }),
    pullPolicy: 'IfNotPresent',
    // Debian's: Alpine's user has another number.
    postgres: 'docker.io/library/postgres:18',
  }
  return { kind: 'given cluster', context, images, only }
}
