/**
 * Runs inside each process of the cluster. At SIGUSR2 it writes how often each function of the product ran since the last one.
 * JavaScript, since npm's own Node loads it too.
 */

import { renameSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = process.env['GATEWAY_SIZE_FOLDER'] ?? '.'
const session = new Session()
session.connect()
session.post('Profiler.enable')
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

let takes = 0
process.on('SIGUSR2', () => {
  session.post('Profiler.takePreciseCoverage', (error, coverage) => {
    if (error) throw error
    /** @type {[file: string, startOffset: number, calls: number][]} */
    const calls = []
    for (const { url, functions } of coverage.result) {
      if (!/^file:.*\/(?:services|packages)\/[^/]+\/src\//.test(url)) continue
      for (const { ranges } of functions) {
        if (ranges[0]?.count) calls.push([fileURLToPath(url), ranges[0].startOffset, ranges[0].count])
      }
    }
    const path = join(folder, `${process.pid}-${takes++}.json`)
    writeFileSync(`${path}.new`, JSON.stringify(calls))
    renameSync(`${path}.new`, path)
  })
})
