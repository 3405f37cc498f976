// Detector of waits in tests: finds polling loops and comparisons with the clock in the syntax tree, in any layout.
import { parseSync } from 'vite';

const rules = {
  clock: 'compares the clock with a deadline: wait with eventually(), or repeat for a time with keepDoing() (test/kit)',
  again: 'polls in a loop: use eventually(), woken by an event if one exists (test/kit)',
  turns: 'runs turns of the event loop: use turns() (test/kit)',
  elapsed: 'asserts a duration: use assertPrompt() with the promised time; its bound is five times that (test/kit)',
};

type Node = { type: string; start: number; end: number };
type Child = 'left' | 'right' | 'test' | 'update' | 'body' | 'argument' | 'callee' | 'id' | 'init' | 'expression';
type Parts = Node & { [Name in Child]?: Node | null } & { operator?: string; expressions?: Node[] };
type Stray = { at: number; end: number; rule: keyof typeof rules };

const now = /^(?:Date|performance)\.now\(\)$/;
const loop = /^(?:While|DoWhile|For|ForOf)Statement$/;
const sleep = /^(?:(?:sleep|wait|delay|pause|setTimeout|setImmediate)\(|Promise\.resolve\(\)|new Promise\b.*\bset(?:Timeout|Immediate)\b)/s;
const event = /^(?:once\(|turns\(|new Promise\b|Promise\.\w+\(\[once\()/;
const length = /^(?:took|elapsed|passed|lasted|waited)$/;
const codeInText = /\b(?:while|for) \(|\.now\(\)/;

/** @returns each finding as `path:line rule: text` */
export function strays(path: string, text: string): string[] {
  return straysOf(text).map(({ at, end, rule }) => {
    const line = text.slice(0, at).split('\n').length;
    return `${path}:${line} ${rules[rule]}: ${text.slice(at, end).replaceAll(/\s+/g, ' ').slice(0, 120)}`;
  });
}

function straysOf(text: string): Stray[] {
  const { program, errors } = parseSync('test.ts', text, { lang: 'ts' });
  if (errors[0]) throw new SyntaxError(errors[0].message);
  const source = (node: Node | null | undefined) => (node ? text.slice(node.start, node.end) : '');
  const readsClock = (node: Node) => has(node, (each) => each.type === 'CallExpression' && now.test(source(each)));
  /** Names of variables that contain a measured duration or a stopwatch. */
  const measured = new Set<string>();
  visit(program as Node, ({ type, id, init }) => {
    if (type !== 'VariableDeclarator' || !init) return;
    const { operator, left } = init as Parts;
    if (source(init) === 'stopwatch()' || (operator === '-' && left && readsClock(left))) measured.add(source(id));
  });
  const isLength = (node: Node) => {
    const name = source(node).replace(/\(\)$/, '').split('.').at(-1) ?? '';
    return measured.has(name) || length.test(name);
  };
  const awaits = (node: Node | null | undefined, what: RegExp) =>
    Boolean(node) && has(node as Node, ({ type, argument }) => type === 'AwaitExpression' && what.test(source(argument)));
  const found: Stray[] = [];
  visit(program as Node, (node) => {
    const { type, test, update, body, callee } = node;
    const stray = (rule: Stray['rule']) => found.push({ at: node.start, end: node.end, rule });
    if (isComparison(node) && readsClock(node)) stray('clock');
    if (type === 'CallExpression' && /^assert\b/.test(source(callee)) && has(node, (each) => isBelow(each, isLength))) stray('elapsed');
    if (loop.test(type)) {
      const statements = statementsOf(body as Node);
      const onlyWaits = statements.length === 1;
      if (onlyWaits && test && isCount(test) && /\bsetImmediate\b/.test(source(body))) stray('turns');
      else if (type !== 'ForOfStatement' && !isService(source(test)) && !(test && isCount(test) && !leaves(body as Node))) {
        const asks = [test, update, body].some((each) => awaits(each, sleep));
        // A loop that also does other work, or continues after the event, is not only a wait.
        const isWoken = awaits(update, event) || ((onlyWaits || update === null) && awaits(statements.at(-1), event));
        if (asks || isWoken) stray('again');
      }
    }
    // Page code is text.
    if ((type === 'TemplateLiteral' || type === 'Literal') && codeInText.test(source(node)))
      for (const { at, end, rule } of straysInText(node, text)) found.push({ at: node.start + 1 + at, end: node.start + 1 + end, rule });
  });
  return found;
}

function isComparison({ type, operator = '' }: Parts): boolean {
  return type === 'BinaryExpression' && /^[<>]=?$/.test(operator);
}

/** True if the node is compared with an upper bound. */
function isBelow(node: Parts, matches: (node: Node) => boolean): boolean {
  const bounded = node.operator?.startsWith('<') ? node.left : node.right;
  return isComparison(node) && Boolean(bounded && matches(bounded));
}

/** True for `index < count` without another condition. */
function isCount(node: Parts): boolean {
  return isComparison(node) && node.left?.type === 'Identifier' && node.right?.type !== 'CallExpression';
}

/** A loop that runs until it is aborted or closed is not a wait. */
function isService(test: string): boolean {
  return /(?:^|&& )!(?:\w+\.)+#?(?:aborted|closed)$/.test(test);
}

function leaves(body: Node): boolean {
  return has(body, ({ type }) => type === 'BreakStatement' || type === 'ReturnStatement');
}

function statementsOf(body: Node): Node[] {
  return body.type === 'BlockStatement' ? (body as Node & { body: Node[] }).body : [body];
}

/** Code in a template or string, with 0 for each expression. Text that is not code has none. */
function straysInText(node: Parts, text: string): Stray[] {
  let code = text.slice(node.start + 1, node.end - 1);
  for (const { start, end } of node.expressions ?? []) {
    // Including `${` and `}`.
    const [from, to] = [start - node.start - 3, end - node.start];
    code = `${code.slice(0, from)}${'0'.padEnd(to - from)}${code.slice(to)}`;
  }
  try {
    return straysOf(code);
  } catch {
    return [];
  }
}

/** The node and its descendants, without nested functions. */
function has(node: Node, matches: (node: Parts) => boolean): boolean {
  let found = false;
  visit(node, (each) => {
    found ||= matches(each);
    return !found && (each === node || !each.type.includes('Function'));
  });
  return found;
}

/** @param act returns false to skip the descendants */
function visit(node: Node, act: (node: Parts) => unknown): void {
  if (act(node) === false) return;
  for (const value of Object.values(node) as unknown[])
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, act);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}
