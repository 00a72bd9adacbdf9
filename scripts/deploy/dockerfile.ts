/**
 * Reads from `deploy/Dockerfile` the part of the workspace that a target ships, and the target's start command.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DockerfileParser } from 'dockerfile-ast'

const PATH = join(import.meta.dirname, '../../deploy/Dockerfile')
export const dockerfileText = readFileSync(PATH, 'utf8')
export const baseImage = /^ARG NODE_IMAGE=(\S+)$/m.exec(dockerfileText)![1]!

interface Instruction {
  keyword: string
  text: string
}

export interface ImagePlan {
  /** The command that fills the image's folder; its last argument is that folder. */
  fill: string[]
  fillEnvironment: Record<string, string>
  /** Beside those: from the checkout, or from the one in which the console is built, into the folder. */
  copies: { from: string; to: string; isBuilt: boolean }[]
  environment: Record<string, string>
  entrypoint: string[]
  command: string[]
  workingFolder: string
  user: string
  /** Empty where the target has no health. */
  healthcheck: string[]
  stopSignal: string
  /** Their values name build arguments. */
  labels: Record<string, string>
}

const stages = readStages()

export const targets = [...stages.keys()].filter((name) => stages.has(`${name}-files`))

export function planOf(target: string): ImagePlan {
  const own = chainOf(target)
  const files = chainOf(`${target}-files`)
  const textsOf = (keyword: string) => own.filter((one) => one.keyword === keyword).map(({ text }) => text)
  const last = (keyword: string) => textsOf(keyword).at(-1) ?? ''
  return {
    fill: files.findLast(({ keyword }) => keyword === 'RUN')!.text.split(' '),
    fillEnvironment: pairs(files, 'ENV'),
    copies: textsOf('COPY').flatMap((text) => readCopy(text, target)),
    environment: pairs(own, 'ENV'),
    entrypoint: list(last('ENTRYPOINT')),
    command: list(last('CMD')),
    workingFolder: last('WORKDIR'),
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

/** The target's own files come by `fill`. */
function readCopy(text: string, target: string): ImagePlan['copies'] {
  const [, stage, from, to] = /^(?:--from=(\S+) )?(\S+) (\S+)$/.exec(text)!
  if (stage === `${target}-files`) return []
  const name = from!.replace(/^\/src\//, '')
  return [{ from: name, to: to === './' ? name.split('/').at(-1)! : to!, isBuilt: stage !== undefined }]
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
