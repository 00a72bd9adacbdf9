/**
 * What `deploy/Dockerfile` does for a target, read from the file itself: which part of the workspace it ships, and how it
 * is started.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DockerfileParser } from 'dockerfile-ast'

const PATH = join(import.meta.dirname, '../../deploy/Dockerfile')
export const dockerfileText = readFileSync(PATH, 'utf8')

interface Instruction {
  keyword: string
  text: string
}

export interface ImagePlan {
  /** The command that fills the image's folder; its last argument is that folder. */
  fill: string[]
  /** What comes from the stage that builds the console: from its workspace, into the folder. */
  copies: [from: string, to: string][]
  environment: Record<string, string>
  entrypoint: string[]
  user: string
  healthcheck: string[]
  stopSignal: string
  labels: Record<string, string>
}

const stages = readStages()

export const targets = [...stages.keys()].filter((name) => stages.has(`${name}-files`))

export function planOf(target: string): ImagePlan {
  const own = chainOf(target)
  const files = chainOf(`${target}-files`)
  const last = (keyword: string) => own.findLast((instruction) => instruction.keyword === keyword)?.text ?? ''
  const entrypoint = [...(JSON.parse(last('ENTRYPOINT')) as string[]), ...list(last('CMD'))]
  return {
    fill: files.findLast(({ keyword }) => keyword === 'RUN')!.text.split(' '),
    copies: own.flatMap(({ keyword, text }) => {
      const [, from, to] = /^--from=console-files \/src\/(\S+) (\S+)$/.exec(keyword === 'COPY' ? text : '') ?? []
      return from && to ? [[from, to] as [string, string]] : []
    }),
    environment: pairs([...files, ...own], 'ENV'),
    entrypoint: target === 'ctl' ? (JSON.parse(last('ENTRYPOINT')) as string[]) : entrypoint,
    user: last('USER'),
    healthcheck: list(last('HEALTHCHECK').replace(/^.*?CMD /, '')),
    stopSignal: last('STOPSIGNAL'),
    labels: pairs(own, 'LABEL'),
  }
}

/** The commands that a stage of its own runs. */
export function stageOf(name: string): { commands: string[]; environment: Record<string, string> } {
  const own = stages.get(name)!.instructions
  return {
    commands: own.filter(({ keyword }) => keyword === 'RUN').map(({ text }) => text),
    environment: pairs(chainOf(name), 'ENV'),
  }
}

function readStages(): Map<string, { base: string; instructions: Instruction[] }> {
  const found = new Map<string, { base: string; instructions: Instruction[] }>()
  let current: Instruction[] = []
  for (const instruction of DockerfileParser.parse(dockerfileText).getInstructions()) {
    const keyword = instruction.getKeyword()
    // Flags are no arguments to the parser.
    const text = instruction
      .getTextContent()
      .slice(keyword.length)
      .trim()
      .replaceAll(/\\\n\s*/g, '')
    if (keyword === 'FROM') {
      const [base = '', , name = ''] = text.split(' ')
      current = []
      found.set(name, { base, instructions: current })
    } else current.push({ keyword, text })
  }
  return found
}

/** The instructions of a stage after those of the stages that it is based on. */
function chainOf(name: string): Instruction[] {
  const stage = stages.get(name)
  return stage ? [...chainOf(stage.base), ...stage.instructions] : []
}

function list(text: string): string[] {
  return text.startsWith('[') ? (JSON.parse(text) as string[]) : []
}

function pairs(instructions: Instruction[], keyword: string): Record<string, string> {
  const text = instructions
    .filter((instruction) => instruction.keyword === keyword)
    .map((instruction) => instruction.text)
  return Object.fromEntries(
    [...text.join(' ').matchAll(/([\w.]+)=(?:"([^"]*)"|(\S+))/g)].map(([, name, quoted, plain]) => [
      name!,
      quoted ?? plain!,
    ]),
  )
}
