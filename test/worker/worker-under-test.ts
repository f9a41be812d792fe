/** The Worker. Its Durable Objects have the bindings of the current test file, and so a deployment of their own. */
import * as worker from "../../src/worker.ts";
import { bindings, sessionBindings } from "./file-bindings.ts";
import { strictSql } from "./strict-sql.ts";

export { default, HandlerOutbound } from "../../src/worker.ts";

export class SessionObject extends worker.SessionObject {
  constructor(ctx: DurableObjectState) {
    strictSql(ctx);
    super(ctx, sessionBindings(ctx.id));
  }
}

export class LedgerObject extends worker.LedgerObject {
  constructor(ctx: DurableObjectState) {
    strictSql(ctx);
    super(ctx, bindings);
  }
}

export class FileIndexObject extends worker.FileIndexObject {
  constructor(ctx: DurableObjectState) {
    strictSql(ctx);
    super(ctx, bindings);
  }
}

export class MockObject extends worker.MockObject {
  constructor(ctx: DurableObjectState) {
    strictSql(ctx);
    super(ctx, bindings);
  }
}

export class RunnerObject extends worker.RunnerObject {
  constructor(ctx: ConstructorParameters<typeof worker.RunnerObject>[0]) {
    super(ctx, bindings);
  }
}
