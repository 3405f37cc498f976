// Routes: all operations. Paths that are not in the table of operations are neither served nor documented.
import type { Operation } from '../../../api/core/operation.ts';
import { operations } from '../../../api/operations/table.ts';

export const routes: readonly Operation[] = Object.values(operations);
