/**
 * A rule of the linter: no table is an object that is looked into by any text. `TABLE[word]` finds members that every
 * object has (`constructor`, `toString`), and `word in TABLE` does, too. A table of such words is a `Map`.
 *
 * A table is a constant whose type takes any text as a name: `const TABLE: Record<string, …>`. The compiler rejects such
 * a look-up in all others. Names that are written there, and a loop's own names of the table, are no words of others.
 */

const OPEN_TYPES = new Set(['Record', 'Partial', 'Readonly'])

/** True where the type accepts any text as a key. */
function isOpen(type) {
  if (type?.type === 'TSTypeLiteral') return type.members.some((member) => member.type === 'TSIndexSignature')
  if (type?.type !== 'TSTypeReference' || !OPEN_TYPES.has(type.typeName.name)) return false
  const [first] = (type.typeArguments ?? type.typeParameters)?.params ?? []
  return type.typeName.name === 'Record' ? first?.type === 'TSStringKeyword' : isOpen(first)
}

/** The constant that the name stands for, where it is a table. */
function tableOf(node, context) {
  if (node.type !== 'Identifier') return null
  for (let scope = context.sourceCode.getScope(node); scope; scope = scope.upper) {
    const variable = scope.set.get(node.name)
    if (!variable) continue
    const [definition] = variable.defs
    const declared = definition?.node
    if (declared?.type !== 'VariableDeclarator' || declared.init?.type !== 'ObjectExpression') return null
    return declared.init.properties.length > 0 && isOpen(declared.id.typeAnnotation?.typeAnnotation) ? node.name : null
  }
  return null
}

const create = (context) => ({
  MemberExpression(node) {
    const isWritten = node.property.type === 'Literal' || node.property.type === 'TemplateLiteral'
    const isPut = node.parent.type === 'AssignmentExpression' && node.parent.left === node
    if (!node.computed || isWritten || isPut || tableOf(node.object, context) === null) return
    context.report({ node, message: `${node.object.name} is looked into by any text: make it a Map` })
  },
  BinaryExpression(node) {
    if (node.operator !== 'in' || tableOf(node.right, context) === null) return
    context.report({ node, message: `every object has members that ${node.right.name} does not own: make it a Map` })
  },
})

export default { meta: { name: 'gateway' }, rules: { 'no-table-index': { create } } }
