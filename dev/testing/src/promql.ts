/**
 * The metrics of a PromQL expression, with the labels that it selects or groups them by.
 */

import { parser } from '@prometheus-io/lezer-promql'

export interface Selection {
  metric: string
  /** Selected or grouped by. */
  labels: string[]
  /** Those that must have exactly one value. */
  equals: [label: string, value: string][]
}

type Node = ReturnType<typeof parser.parse>['topNode']

/** Throws on text that is no PromQL. */
export function readExpression(expression: string): Selection[] {
  const selections: Selection[] = []
  const textOf = ({ from, to }: { from: number; to: number }) => expression.slice(from, to)
  parser.parse(expression).iterate({
    enter({ node, type, from }) {
      if (type.isError) throw new Error(`this is no PromQL at ${from}: ${expression}`)
      if (type.name === 'VectorSelector') selections.push(readSelector(node, textOf))
    },
  })
  return selections
}

function readSelector(selector: Node, textOf: (node: Node) => string): Selection {
  const matchers = selector.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? []
  const read = matchers.map((matcher) => ({
    label: textOf(matcher.getChild('LabelName')!),
    isEqual: textOf(matcher.getChild('MatchOp')!) === '=',
    value: textOf(matcher.getChild('StringLiteral')!).slice(1, -1),
  }))
  return {
    metric: textOf(selector.getChild('Identifier')!),
    labels: [...read.map(({ label }) => label), ...groupingsAround(selector, textOf)],
    equals: read.filter(({ isEqual }) => isEqual).map(({ label, value }) => [label, value]),
  }
}

/** The labels that are kept of it: of the innermost `by`, since the outer ones see no others. */
function groupingsAround(selector: Node, textOf: (node: Node) => string): string[] {
  for (let node = selector.parent; node; node = node.parent) {
    const grouping = node.getChild('AggregateModifier')?.getChild('GroupingLabels')
    if (grouping) return grouping.getChildren('LabelName').map(textOf)
  }
  return []
}
