/**
 * The interfaces of an official SDK, read from its declarations. A test can go over every member of a request, and a
 * new version of the SDK brings its new members to the test.
 */

import { readFileSync } from 'node:fs'

export interface Member {
  name: string
  /** The type as the SDK writes it. */
  type: string
  isList: boolean
}

interface Declaration {
  namespace: string
  isInterface: boolean
  parents: string
  body: string
}

export class SdkDeclarations {
  #declared = new Map<string, Declaration>()

  constructor(files: readonly string[]) {
    for (const file of files) this.#read(withoutComments(readFileSync(file, 'utf8')), '')
  }

  membersOf(name: string): Member[] {
    const { body, parents, namespace } = this.#declared.get(name) ?? fail(name)
    const indent = /^ +/m.exec(body)?.[0] ?? ''
    const own = [...body.matchAll(new RegExp(`^${indent}(\\w+)\\??:([^]*?);$(?=\\n${indent}\\w|\\n*\\s*$)`, 'gm'))]
    const inherited = this.#namesIn(parents, namespace).flatMap((parent) => this.membersOf(parent))
    return [...inherited, ...own.map(([, member, type]) => this.#member(member!, type!, namespace))]
  }

  /** The interfaces that a member's type names, through unions and other names. */
  interfacesIn(type: string, owner: string): string[] {
    const { namespace } = this.#declared.get(owner) ?? fail(owner)
    const found = new Set<string>()
    const seen = new Set<string>()
    const follow = (names: string[]): void => {
      for (const name of names.filter((each) => !seen.has(each))) {
        seen.add(name)
        const { isInterface, body, namespace: inner } = this.#declared.get(name)!
        if (isInterface) found.add(name)
        else follow(this.#namesIn(body, inner))
      }
    }
    follow(this.#namesIn(type, namespace))
    return [...found]
  }

  /** The literal by which a union distinguishes an interface from its others. */
  literalOf(name: string, member: 'type' | 'role'): string | undefined {
    const type = this.membersOf(name).find((each) => each.name === member)?.type
    return type === undefined ? undefined : /'([^']*)'/.exec(type)?.[1]
  }

  #member(name: string, type: string, namespace: string): Member {
    const [alias] = this.#namesIn(type, namespace)
    const declared = alias === undefined ? undefined : this.#declared.get(alias)
    const isAliasOfList = declared?.isInterface === false && isListType(declared.body)
    return { name, type, isList: isListType(type) || isAliasOfList }
  }

  /** The declared names in a text. A name may be written from within a namespace, or by way of an import. */
  #namesIn(text: string, namespace: string): string[] {
    const written = [...text.replaceAll(/'[^']*'/g, '').matchAll(/\b[A-Z]\w*(?:\.[A-Z]\w*)*/g)].map(([name]) => name)
    return written.flatMap((name) => {
      const steps = namespace.split('.')
      const places = steps.map((_, at) => `${steps.slice(0, steps.length - at).join('.')}.${name}`)
      const known = [...places, name, name.slice(name.indexOf('.') + 1)].find((each) => this.#declared.has(each))
      return known ?? []
    })
  }

  #read(text: string, namespace: string): void {
    for (const [, , kind, name, , parents = '', body] of text.matchAll(BLOCK)) {
      const qualified = namespace === '' ? name! : `${namespace}.${name}`
      if (kind === 'namespace') this.#read(body!, qualified)
      else this.#declared.set(qualified, { namespace: qualified, isInterface: true, parents, body: body! })
    }
    for (const [, , name, body] of text.matchAll(ALIAS)) {
      const qualified = namespace === '' ? name! : `${namespace}.${name}`
      if (isOutermost(text, name!, namespace))
        this.#declared.set(qualified, { namespace: qualified, isInterface: false, parents: '', body: body! })
    }
  }
}

const BLOCK =
  /^( *)(?:export )?(?:declare )?(interface|namespace) (\w+)(<[^>]*>)?(?: extends ([^{]+))? \{$([^]*?)^\1\}$/gm
const ALIAS = /^( *)(?:export )?(?:declare )?type (\w+)(?:<[^>]*>)? = ([^]*?);$/gm

/** An alias of a namespace is read with that namespace. */
function isOutermost(text: string, name: string, namespace: string): boolean {
  const indent = ' '.repeat(namespace === '' ? 0 : 4 * namespace.split('.').length)
  return new RegExp(`^${indent}(?:export )?(?:declare )?type ${name}\\b`, 'm').test(text)
}

function isListType(type: string): boolean {
  return /\bArray<|\[\]/.test(type)
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[^]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '')
}

function fail(name: string): never {
  throw new Error(`the SDK declares no ${name}`)
}
