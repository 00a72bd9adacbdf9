/**
 * An in-toto statement with SLSA's provenance predicate (https://slsa.dev/spec/v1.0/provenance): which commit the files were
 * made of, and how. Unsigned: who publishes signs.
 */

import { createHash } from 'node:crypto'

export interface Made {
  name: string
  sha256: string
}

export function provenanceOf(made: readonly Made[], source: { commit: string; committedAt: Date }): object {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: made.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://github.com/model-gateway/model-gateway/tree/main/scripts/release',
        externalParameters: { command: 'npm run release' },
        resolvedDependencies: [
          {
            uri: 'git+https://github.com/model-gateway/model-gateway',
            digest: { gitCommit: source.commit },
          },
        ],
      },
      runDetails: {
        builder: { id: 'https://github.com/model-gateway/model-gateway/tree/main/scripts/release/main.ts' },
        metadata: { startedOn: source.committedAt.toISOString() },
      },
    },
  }
}

export function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
